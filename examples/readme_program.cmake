# Fails unless README.md shows the program in PROGRAM as it is.
file(READ ${README} readme)
file(READ ${PROGRAM} program)
string(FIND "${readme}" "${program}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${README} does not contain ${PROGRAM} as it is")
endif()
