// Package peer holds a node's sockets to the other nodes of its cluster.
//
// Two links join each pair of nodes. The protocol link carries every message that elections and
// commits wait for, control before data; the bulk link carries repair and transfer, so that a
// heartbeat never stands behind a chunk. The node with the smaller number dials, the other one
// accepts; a link that ends is dialled again at once, and the accepting side, which cannot dial,
// asks with a plain connect whether anything listens there at all. So both learn within
// milliseconds that a process is gone.
//
// A link begins with a handshake (handshake.go draws it) which proves that both sides know the
// cluster's secret and compares what must be equal. It is about who speaks, once; what follows is
// not encrypted or signed, so the network between nodes must be as trusted as their disks.
//
// A caller must: give each frame to SendFrame before it lets go of its own reference; treat what
// Handler receives as lent for the call; keep Handler quick, except for Frame and ChunkEnd, whose
// blocking (for less than 4 s, then the link ends) is the back-pressure on a transfer; and return from every Handler call and every done
// function once the context of Run has ended. No Send method blocks.
//
// The package never: reorders one lane, delivers a message of an incarnation that is not the
// present one, delivers a frame whose checksums it has not verified, allocates on a length that it
// has not checked, or keeps a message for a link that is down.
//
// # Goroutines
//
// All are started by Network.Run, which waits for them. r is one other node.
//
//	accept loop   listener       -> new connections          -> one handshake goroutine each, at most 64
//	handshake     a connection   -> a proven, compared link  -> keeper of r; Refused -> Handler
//	dialer x 2    r's address    -> a proven, compared link  -> keeper of r; Refused -> Handler (r's number is larger)
//	prober        r's address    -> "refused"                -> keeper of r    (r's number is smaller)
//	keeper        links, deaths  -> Hello, LinkUp, LinkDown  -> Handler; the only one that knows who is present
//	reader        protocol link  -> Message                  -> Handler
//	writer        outbox         -> one writev a round       -> protocol link  (what its sender has not written: nobody else was at it, and the socket took it)
//	bulk reader   bulk link      -> Message, Frame, ChunkEnd -> Handler
//	bulk writer   jobs           -> load, writev or sendfile -> bulk link, done
//
// A keeper waits for the reader and writer of a link to end before it lets the next one speak: no
// lock is held over a call of Handler.
package peer
