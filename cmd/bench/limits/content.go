package limits

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// content makes blocks that differ from one another and can be made again, to compare what was read back.
type content struct{ block []byte }

func newContent(size int) *content {
	c := &content{make([]byte, size)}
	state := uint64(0x9e3779b97f4a7c15)
	for i := range c.block {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		c.block[i] = byte(state)
	}
	return c
}

// of is block number n; it is valid until the next call.
func (c *content) of(n int64) []byte {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], uint64(n)+1)
	copy(c.block, number[:])
	return c.block
}

func (c *content) check(n int64, read []byte) error {
	if !bytes.Equal(read, c.of(n)) {
		return fmt.Errorf("block %d was read back other than it was written", n)
	}
	return nil
}
