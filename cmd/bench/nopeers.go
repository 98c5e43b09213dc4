//go:build core

package main

// peerKinds: this build drives our log and no other.
func peerKinds() []targetKind { return nil }
