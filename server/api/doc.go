// Package api is what a node shows to its clients and its operators: the client plane (batches,
// frames, sessions, topics, cluster) on fasthttp, and the admin plane (health, metrics, events,
// profiles) on a listener of its own, so that a saturated client plane cannot starve it.
//
// The package knows no partition, journal or peer. It defines what it needs of a node (Node,
// Partition, EventSource, and an http.Handler for metrics), and package server joins them. A caller
// makes a plane with NewClientPlane or NewAdminPlane, which listen, and starts it with Run, which
// owns every goroutine and returns when all of them have ended.
//
// Every request is hostile until checked. It is judged by its head alone before a byte of its body
// is read (head.go); only then a buffer of the pool is lent to the HTTP reader (lend.go), so that a
// batch is read straight into the memory that the log writes and sends from. Nothing of a fasthttp
// object is kept beyond its handler.
package api
