package journal

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// pageBytes is the unit in which the file systems of Linux keep files in memory, and the one in which zeros are written past it. Where pages are larger
// nothing breaks: then a write that ends within one may have to read it first.
const pageBytes = 4096

func roundUpToPage(n int64) int64 { return (n + pageBytes - 1) &^ (pageBytes - 1) }

// nextPage is where the page after that of byte n begins.
func nextPage(n int64) int64 { return n&^(pageBytes-1) + pageBytes }

// zeroBytes is how much one call writes.
const zeroBytes = 512 << 10

// zeros lie on pages of their own, as direct writes want it, and are never written to: all of them are the kernel's one page of zeros.
var zeros = func() []byte {
	b, err := unix.Mmap(-1, 0, zeroBytes, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil { // no room for half a megabyte of address space
		panic(fmt.Sprintf("journal: map %d bytes of zeros: %v", zeroBytes, err))
	}
	return b
}()
