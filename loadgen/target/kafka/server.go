package kafka

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Server is what a Kafka process that is broker and controller at once is told. All that is not here is Kafka's own default.
type Server struct {
	ID         int      // node.id
	Client     string   // host:port for clients and the other brokers
	Controller string   // host:port of its controller
	Voters     []string // [Server.Voter] of every server of the cluster
	LogDir     string   // absolute
}

// Voter is how the others find its controller.
func (s Server) Voter() string { return fmt.Sprintf("%d@%s", s.ID, s.Controller) }

// Settings are all that differs from Kafka's defaults, by Kafka's names.
func (s Server) Settings() map[string]string {
	return map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        strconv.Itoa(s.ID),
		"controller.quorum.voters":       strings.Join(s.Voters, ","),
		"controller.listener.names":      "CONTROLLER",
		"listeners":                      fmt.Sprintf("PLAINTEXT://%s,CONTROLLER://%s", s.Client, s.Controller),
		"advertised.listeners":           "PLAINTEXT://" + s.Client,
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs":                       s.LogDir,
		"auto.create.topics.enable":      "false", // the caller makes its topic
	}
}

// Properties is its configuration file, a Java properties file. Values are the caller's: paths, addresses and words without a line break.
func (s Server) Properties() string {
	settings := s.Settings()
	var names []string
	for name := range settings {
		names = append(names, name)
	}
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "%s=%s\n", name, strings.ReplaceAll(settings[name], `\`, `\\`))
	}
	return text.String()
}
