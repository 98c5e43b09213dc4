package vsr

// Kind says what a frame is.
type Kind uint8

// The kinds of frames that a log holds.
const (
	KindBatch    Kind = 1 // messages of a producer
	KindRegister Kind = 2 // opens a session; carries no messages
)

// Client is a producer's identity: 128 random bits that it chose itself.
type Client struct{ Hi, Lo uint64 }

// Header is the header of a frame in decoded form. Package wire draws its bytes.
//
// The client fills Kind, Client, Session, Request, MessageCount, BodyBytes and BodySum; everything
// else is zero until the primary stamps it, once. A stamped header never changes again.
type Header struct {
	Kind         Kind
	Client       Client
	Session      uint64 // op of the register frame that opened the session; 0 in a register frame
	Request      uint64 // rises within a session, gaps allowed; 0 in a register frame
	MessageCount uint32
	BodyBytes    uint32
	BodySum      uint64 // XXH3-64 of the body

	Sum        uint64 // XXH3-64 of the 128 header bytes with this field zero: the identity of the op
	Parent     uint64 // Sum of op Op-1; for op 1 the group's RootSum
	Cluster    uint64
	Group      uint32
	View       uint64 // view in which the op was first prepared; decides nothing
	Op         uint64
	BaseOffset uint64 // offset of the first message
	Timestamp  int64  // ns since the Unix epoch at the primary, never below the previous op's
}

// NextOffset is the offset that follows the frame's last message.
func (h *Header) NextOffset() uint64 { return h.BaseOffset + uint64(h.MessageCount) }

// ID names an op: its number alone never decides.
type ID struct{ Op, Sum uint64 }

// ID returns the identity of a stamped header.
func (h *Header) ID() ID { return ID{h.Op, h.Sum} }
