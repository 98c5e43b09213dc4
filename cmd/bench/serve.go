package main

import (
	"context"

	"rejoin/server"
)

// nodeOptions are those of server.Run.
type nodeOptions = server.Options

// serve runs a node until ctx ends.
func serve(ctx context.Context, o nodeOptions) error { return server.Run(ctx, o) }
