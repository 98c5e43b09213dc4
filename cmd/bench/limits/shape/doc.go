// Package shape is the least that a replicated log of three nodes must do for a batch, and nothing else, so that a log can be held against it:
// an HTTP POST whose body is taken over without a copy, one pwritev and one fdatasync for all batches that are pending, one writev of the
// same bytes to each of two backups that do the same, and the answer once two of three have synced. No views, sessions or recovery: it is
// a limit, not a server, and a process that fails just ends.
//
// Every node is a process of its own, and so are the producers. What is stored is a head of 64 bytes and the body, back to back:
//
//	0  "shap"   4  body bytes (4)   8  sequence (8), from 1   16  CRC-32C of the body (4)   20  zero
//
// All numbers are little-endian. The file is filled with zeros before the load and used again from its beginning when it is full, as a log
// with retention and recycled segments would. After a load each node reads what its file holds and checks it: magic, sequence without a
// hole up to the last batch, checksum.
package shape
