# Compiles one image of the device library and notes what its kernels use.
#   cmake -D "NVCC=<launcher and nvcc>" -D "FLAGS=<list>" -D SOURCE=<file> -D OUT=<file.fatbin>
#         -D OBJCOPY=<objcopy> -P compile_image.cmake
#
# Leaves beside the fat binary <file>.usage, what ptxas says of registers, stack and spills, and
# <file>.d, the headers that were read. nvcc makes an object for the host, because that is what
# ccache keeps; what the CUDA runtime would find in it is the fat binary.

cmake_path(REPLACE_EXTENSION OUT LAST_ONLY o OUTPUT_VARIABLE object)
cmake_path(REPLACE_EXTENSION OUT LAST_ONLY d OUTPUT_VARIABLE depfile)
cmake_path(REPLACE_EXTENSION OUT LAST_ONLY usage OUTPUT_VARIABLE usage)

execute_process(
  COMMAND ${NVCC} ${FLAGS} -Xptxas -v -MD -MF ${depfile} -MT ${OUT} -c ${SOURCE} -o ${object}
  OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} does not compile:\n${text}")
endif()
file(WRITE ${usage} "${text}")

execute_process(
  COMMAND ${OBJCOPY} -O binary --only-section=.nv_fatbin --set-section-flags .nv_fatbin=alloc
    ${object} ${OUT}
  COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${OUT} bytes)
if(bytes EQUAL 0)
  message(FATAL_ERROR "${object} holds no device code")
endif()
