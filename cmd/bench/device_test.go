package main

import (
	"strings"
	"testing"
)

// TestWrittenToDevice: the column of written sectors, of the very device.
func TestWrittenToDevice(t *testing.T) {
	const text = ` 254       0 vda 1240046 117566 143287402 5364285 26850078 1115509 1986372704 13451977 0 4342768 21469526
 254       1 vda1 1 2 3 4 5 6 7 8 9 10 11
 253       0 zram0 0 0 0
`
	for _, test := range []struct {
		major, minor uint32
		written      int64
		err          string
	}{{254, 0, 1986372704 * 512, ""}, {254, 1, 7 * 512, ""}, {0, 45, 0, "no line"}, {253, 0, 0, "no line"}} {
		written, err := writtenToDevice([]byte(text), test.major, test.minor)
		if written != test.written || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%d:%d: %d, error %v", test.major, test.minor, written, err)
		}
	}
}

// TestDeviceBytes: the difference of two looks, and each way in which there is none says why.
func TestDeviceBytes(t *testing.T) {
	whole := &deviceWatch{looks: []int64{1000, 5000}}
	if written, unknown := whole.written(); unknown != "" || *written != 4000 {
		t.Errorf("%v %q", written, unknown)
	}
	broken := watchDevice(t.TempDir() + "/none")
	broken.look()
	for _, c := range []*deviceWatch{nil, {looks: []int64{1}}, broken} {
		if written, unknown := c.written(); written != nil || unknown == "" {
			t.Errorf("%+v: %v %q", c, written, unknown)
		}
	}
}
