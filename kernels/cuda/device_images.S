// The images of device_images.h, and those of messages and codes, in the section where cuobjdump looks for
// them: `cuobjdump -lelf` of the finished library lists the machine code in it. The folder of the
// files is on the include path.
#include "kernels/cuda/device_images.h"

    .section .nv_fatbin, "a", @progbits

.macro rondo_image name
    .balign 16
    .globl rondoDeviceImage_\name, rondoDeviceImageEnd_\name
    .hidden rondoDeviceImage_\name, rondoDeviceImageEnd_\name
rondoDeviceImage_\name:
    .incbin "\name\().fatbin"
rondoDeviceImageEnd_\name:
.endm

#define RONDO_IMAGE(name, kernels) rondo_image name;
RONDO_FOR_EACH_DEVICE_IMAGE(RONDO_IMAGE)
rondo_image messages
rondo_image coded

    .section .note.GNU-stack, "", @progbits
