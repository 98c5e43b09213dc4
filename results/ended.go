package results

// HowEnded is how the run ended a process of a node, in one word. All of them count among the kills.
type HowEnded string

const (
	Killed    HowEnded = "killed"    // SIGKILL, or a command that stands for it
	Restarted HowEnded = "restarted" // SIGTERM: it answers what it has taken, closes its files and goes in order
	Wiped     HowEnded = "wiped"     // SIGKILL, and its directory was removed
)

// Verb is what was done to the node: "kill n0".
func (h HowEnded) Verb() string {
	switch h {
	case Restarted:
		return "restart"
	case Wiped:
		return "wipe"
	}
	return "kill"
}

// Signal is what the process was sent.
func (h HowEnded) Signal() string {
	if h == Restarted {
		return "SIGTERM"
	}
	return "SIGKILL"
}

// Word is Killed for records of builds that did not keep how a process was ended.
func (h HowEnded) Word() HowEnded {
	switch h {
	case Restarted, Wiped:
		return h
	}
	return Killed
}
