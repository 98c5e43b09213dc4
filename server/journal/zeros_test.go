package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"rejoin/server/journal"
)

// TestOSWriteZeros puts zeros in place of what was there, to the byte, whatever the range, and nothing beside it.
func TestOSWriteZeros(t *testing.T) {
	const size = 3 << 20
	old := bytes.Repeat([]byte{7}, size)
	for _, c := range []struct{ off, bytes int64 }{
		{0, size}, {4096, 1 << 20}, {8192, 4096}, {1, 4096}, {4096, 4095}, {5, 7}, {4096, 0}, {100_000, 2_000_001}, {size - 4096, 8192}, {size, 1 << 20}, {size + 4096, 4096},
	} {
		t.Run(fmt.Sprintf("%d bytes at %d", c.bytes, c.off), func(t *testing.T) {
			fsys := journal.OS(t.TempDir())
			f, err := fsys.Create("f")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Writev([][]byte{old}, 0); err != nil { // dirty in the cache when the zeros come
				t.Fatal(err)
			}
			if err := f.WriteZeros(c.off, c.bytes); err != nil {
				t.Fatal(err)
			}
			want := append([]byte(nil), old...)
			if end := c.off + c.bytes; c.bytes > 0 && end > size {
				want = append(want, make([]byte, end-size)...)
			}
			clear(want[min(c.off, int64(len(want))):min(c.off+c.bytes, int64(len(want)))])
			n, err := f.Size()
			if err != nil || n != int64(len(want)) {
				t.Fatalf("size %d, %v, want %d", n, err, len(want))
			}
			got := make([]byte, n)
			if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("reads back differently, %v", err)
			}
		})
	}
}

// TestZerosThatCannotBeWritten: a failure on the way past the page cache is told, and not tried again through it.
func TestZerosThatCannotBeWritten(t *testing.T) {
	_, f := createDirect(t)
	err := f.WriteZeros(1<<62, 4096)
	if err == nil {
		t.Skip("this file system has room for a file of any size")
	}
	var failed *os.PathError
	if !errors.As(err, &failed) || failed.Op != "pwrite" || !errors.Is(err, unix.EFBIG) {
		t.Fatalf("%v", err)
	}
}

// TestZerosTakeNoMemory: whole pages of zeros pass the page cache by.
func TestZerosTakeNoMemory(t *testing.T) {
	dir, f := createDirect(t)
	const size = 4 << 20
	if err := f.WriteZeros(0, size); err != nil {
		t.Fatal(err)
	}
	if n := pagesInMemory(t, filepath.Join(dir, "f"), size); n > 0 {
		t.Errorf("%d of %d pages are in memory", n, size/4096)
	}
}

// TestSegmentsAheadOfUseInMemory: only where the options do not ask for zeros on the disk alone.
func TestSegmentsAheadOfUseInMemory(t *testing.T) {
	for _, onDisk := range []bool{true, false} {
		root := t.TempDir()
		knowsDirect(t, root)
		o := options(nil)
		o.FS, o.SegmentBytes, o.SegmentsReady, o.ZerosOnDisk = journal.OS(root), 4<<20, 2, onDisk
		log, _, err := journal.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		for more := true; more; {
			if more, err = log.PrepareMore(); err != nil {
				t.Fatal(err)
			}
		}
		if n := pagesInMemory(t, filepath.Join(root, dir, "next.seg"), o.SegmentBytes); (n == 0) != onDisk {
			t.Errorf("zeros on disk: %v, %d of %d pages are in memory", onDisk, n, o.SegmentBytes/4096)
		}
	}
}

// pagesInMemory counts those of a file.
func pagesInMemory(t *testing.T, path string, size int64) int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	memory, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	resident := make([]byte, size/4096)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(size), uintptr(unsafe.Pointer(&resident[0]))); errno != 0 {
		t.Fatal(errno)
	}
	return len(resident) - bytes.Count(resident, []byte{0})
}

// TestAppendReadsNothing: frames of any length go to segments whose zeros are on the disk alone, and no page has to be read for it.
func TestAppendReadsNothing(t *testing.T) {
	dir := t.TempDir()
	knowsDirect(t, dir)
	x := &fixture{TB: t}
	o := options(nil)
	o.FS, o.SegmentBytes = journal.OS(dir), 4<<20
	log, _, err := journal.Open(o)
	x.must(err)
	defer log.Close()
	frames := x.make(150, 50_001) // two segments
	before := readBytes(t)
	for i := 0; i < len(frames); i += 3 {
		x.must(log.Append(frames[i : i+3]))
		_, err := log.Sync()
		x.must(err)
		x.must(log.Prepare())
	}
	if n := readBytes(t) - before; n > int64(len(frames)/3)*4096/4 { // the file system may read some blocks of its own
		t.Errorf("%d bytes were read from the disk by %d appends", n, len(frames)/3)
	}
}

// createDirect makes a file where the page cache can be passed by.
func createDirect(t *testing.T) (dir string, f journal.File) {
	t.Helper()
	dir = t.TempDir()
	knowsDirect(t, dir)
	f, err := journal.OS(dir).Create("f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return dir, f
}

// knowsDirect skips where there is nothing to pass by: on a file system that takes no direct writes, and on tmpfs, which is the page cache.
func knowsDirect(t *testing.T, dir string) {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Type == unix.TMPFS_MAGIC {
		t.Skipf("%s is on tmpfs, which keeps all it has in memory: set TMPDIR to a disk", dir)
	}
	file, err := os.OpenFile(filepath.Join(dir, "direct"), os.O_CREATE|os.O_WRONLY|unix.O_DIRECT, 0o600)
	if err != nil {
		t.Skipf("the file system of %s takes no direct writes: %v", dir, err)
	}
	file.Close()
}

// readBytes is what this process has had read from disks.
func readBytes(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skipf("the kernel does not tell what was read from disks: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "read_bytes: %d", &n); err == nil {
			return n
		}
	}
	t.Skip("the kernel does not tell what was read from disks: /proc/self/io has no read_bytes")
	return 0
}
