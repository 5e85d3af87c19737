# Fails if a program in FOLDER has more than 60 lines: they are to be read at a glance.
file(GLOB programs ${FOLDER}/*.c ${FOLDER}/*.cc ${FOLDER}/*.cu ${FOLDER}/*.sh)
foreach(program IN LISTS programs)
  file(STRINGS ${program} lines REGEX "[^ ]")
  list(LENGTH lines count)
  if(count GREATER 60)
    message(FATAL_ERROR "${program} has ${count} lines")
  endif()
endforeach()
