package compare

// HowToRead are the sentences that belong beside the table.
func (v *Versus) HowToRead() []string {
	latency := "A batch counts in the phase in which it was due, with the time that it waited behind others: a system that is still working off an outage shows that in its steady phase, too, and one that does not keep up with the load shows its queue. Latency without faults: bench versus steady."
	if v.Overload {
		latency = "This load is more than a system carries: what a batch waited says how full the system was, and is a latency at no rate. So there is none here. Latency at a rate that all carry: bench versus steady."
	}
	return []string{
		"The systems do not promise the same. Each column carries its promise; a number is worth what was promised for it.",
		"A figure is the median over runs, of recovery over kills; with it stand the least and the most of them, in its unit, and their number n. × is against the first column. One machine, runs in turn: only such ratios mean something, and below 15 % none is shown.",
		latency,
		"A gap is the longest time without any acknowledgement around a kill. Full rate: from the kill of a primary until the first moment from which a whole second brought as many acknowledgements as 95 % of what was due in it, of whatever batches; kills after which that did not come are in no median and counted below. Of a node whose role was not known when it was killed the gap is in neither row; such kills are counted below, and a warning tells each gap. Replicas current: from the restart of a killed node until it holds what was committed 200 ms before.",
		"With kills the CPU time holds what it takes to start a killed node again, in a Java program's case many seconds. Cost without kills: bench versus steady.",
		"Bytes to the device are those of the measured phase, zeros ahead of a log included; what a system leaves in the page cache is written later, and not among them. Bytes on disk: only of runs whose nodes all kept, to the end, all that was acknowledged.",
		"A SIGKILL leaves the page cache alone: a system that acknowledges before it syncs loses nothing here, and may in a power cut.",
		"Settings of each system, why, and how to change them: docs/fairness.md. Corrections are welcome.",
	}
}
