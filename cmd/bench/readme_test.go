package main

import (
	"os"
	"strings"
	"testing"

	"rejoin/server"
)

// TestReadmeClusterFile holds the cluster file of the README to being one.
func TestReadmeClusterFile(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, found := strings.Cut(string(text), "```yaml\n")
	block, _, closed := strings.Cut(text2, "```")
	if !found || !closed {
		t.Fatal("the README shows no cluster file")
	}
	config, err := server.ParseConfig([]byte(block))
	if err != nil || len(config.Nodes) != 3 || config.Topics[0].Name != topicName {
		t.Errorf("%+v, error %v", config, err)
	}
}
