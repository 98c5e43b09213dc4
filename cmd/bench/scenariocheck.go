package main

import (
	"errors"
	"math"
	"time"

	"rejoin/server"
)

// Limits of what a scenario may ask for.
const (
	producersMax     = 1200
	partitionsMax    = 64
	batchMessagesMax = 10_000
	repetitionsMax   = 1000
	quietMaxMax      = duration(24 * time.Hour)
	restMax          = duration(time.Hour)
	nameBytesMax     = 64
)

// validate says what of a scenario cannot be, by its field.
func (s Scenario) validate() error {
	switch {
	case !isScenarioName(s.Name):
		return refuseField("name", "%q is no name for a run folder; use 1 to %d of a-z A-Z 0-9 _ - .", s.Name, nameBytesMax)
	case s.kind().name == "":
		return refuseField("target", "%q is unknown; there are %s", s.Target, targetNames())
	case s.Nodes != 1 && s.Nodes != 3 && s.Nodes != 5:
		return refuseField("nodes", "%d; a cluster has 1, 3 or 5", s.Nodes)
	case s.Producers < 1 || s.Producers > producersMax:
		return refuseField("producers", "%d; pass 1 to %d", s.Producers, producersMax)
	case s.Partitions < 1 || s.Partitions > partitionsMax:
		return refuseField("partitions", "%d; pass 1 to %d", s.Partitions, partitionsMax)
	case s.Partitions > 1 && !s.kind().own:
		return refuseField("partitions", "%d; target %s is driven with one partition", s.Partitions, s.Target)
	case s.Partitions > 1 && s.Consumers.Count > 0:
		return refuseField("partitions", "%d; consumers read one partition, leave one of them out", s.Partitions)
	case s.BatchMessages < 1 || s.BatchMessages > batchMessagesMax:
		return refuseField("batch_messages", "%d; pass 1 to %d", s.BatchMessages, batchMessagesMax)
	case s.Rest > restMax:
		return refuseField("rest", "%v; pass at most %v", s.Rest, restMax)
	case s.QuietMax <= 0 || s.QuietMax > quietMaxMax:
		return refuseField("quiet_max", "%v; pass more than 0 and at most 24h", s.QuietMax)
	case s.QuietMin > s.QuietMax:
		return refuseField("quiet_min", "%v is longer than quiet_max %v", s.QuietMin, s.QuietMax)
	case s.Repetitions < 1 || s.Repetitions > repetitionsMax:
		return refuseField("repetitions", "%d; pass 1 to %d", s.Repetitions, repetitionsMax)
	case s.ClosedLoop && s.Consumers.Count > 0:
		return refuseField("consumers.count", "consumers tell the time from due, and in a closed loop nothing is due; leave them out")
	case s.ClosedLoop && s.Overload:
		return refuseField("overload", "a closed loop offers as much as is taken, never more; leave one of them out")
	case s.FirstAddress != "" && s.FirstAddress != nodeBackup:
		return refuseField("first_address", "%q; leave it out or say backup", s.FirstAddress)
	case s.Plant != "" && s.Target != targetMemory:
		return refuseField("plant", "it works with target %s only; a real server has no fault to switch on", targetMemory)
	case s.Durability != server.DurabilityPersisted && s.Durability != server.DurabilityReplicated:
		return refuseField("durability", "%q; pass %s or %s", s.Durability, server.DurabilityPersisted, server.DurabilityReplicated)
	}
	if err := s.validateLoad(); err != nil {
		return err
	}
	if s.Duration < duration(time.Second) {
		return refuseField("duration", "a load of %v is too short; pass at least 1s", s.Duration)
	}
	if s.Warmup >= s.Duration {
		return refuseField("warmup", "%v leaves nothing of a load of %v", s.Warmup, s.Duration)
	}
	if err := s.validateCluster(); err != nil {
		return err
	}
	if err := s.validateDemands(); err != nil {
		return err
	}
	if err := s.validateConsumers(); err != nil {
		return err
	}
	return s.validateFaults()
}

// isScenarioName keeps a name from leading out of the results folder.
func isScenarioName(name string) bool {
	if name == "" || len(name) > nameBytesMax || name[0] == '.' {
		return false
	}
	for _, r := range name {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
		if !ok {
			return false
		}
	}
	return true
}

// validateCluster lets the server judge its own settings before anything is started.
func (s Scenario) validateCluster() error {
	if !s.kind().own {
		return nil
	}
	if given, needed := s.Cluster.ClientConnections, s.connections(); given > 0 && given < needed {
		return refuseField("cluster.client_connections", "%d; %d producers and %d consumers, which may all ask one node, need at least %d; leave it out",
			given, s.Producers, s.Consumers.Count, needed)
	}
	ports := make([]int, 3*s.Nodes)
	for i := range ports {
		ports[i] = portFirst + i
	}
	_, _, err := clusterConfig(s, ports)
	var field *server.ConfigError
	if errors.As(err, &field) {
		at := field.Field
		if rest, ok := cutLimits(at); ok {
			at = "cluster." + rest
		}
		return refuseField(at, "%s", field.Text)
	}
	return err
}

// cutLimits cuts what the cluster file calls the settings that a scenario has under cluster.
func cutLimits(field string) (string, bool) {
	const limits = "limits."
	if len(field) > len(limits) && field[:len(limits)] == limits {
		return field[len(limits):], true
	}
	return field, false
}

func (s Scenario) validateDemands() error {
	d := s.Demands
	switch {
	case !(d.AckedShareMin >= 0 && d.AckedShareMin <= 1) || math.IsNaN(d.AckedShareMin):
		return refuseField("demands.acked_share_min", "%v is no share; pass 0 to 1", d.AckedShareMin)
	case d.LateP99Max <= 0:
		return refuseField("demands.late_p99_max", "%v; pass more than 0, since no generator is never late", d.LateP99Max)
	case !(d.CanaryChangeMax >= 1) || math.IsInf(d.CanaryChangeMax, 0):
		return refuseField("demands.canary_change_max", "%v; pass a factor of 1 or more: no machine is the same twice", d.CanaryChangeMax)
	}
	for field, n := range map[string]int64{"rss_anon_max_bytes": d.RssAnonMaxBytes, "killed_primaries_min": int64(d.KilledPrimariesMin),
		"killed_backups_min": int64(d.KilledBackupsMin), "repair_ops_min": d.RepairOpsMin, "transfer_ops_min": d.TransferOpsMin} {
		if n < 0 {
			return refuseField("demands."+field, "%d is negative; pass 0, which asks nothing, or more", n)
		}
	}
	if x := d.ExtraViewChangesMax; x != nil && *x < 0 {
		return refuseField("demands.extra_view_changes_max", "%d is negative; pass 0 or more", *x)
	}
	if s.Partitions > 1 && (d.PrimaryGapMax > 0 || d.FirstAckMax > 0 || d.ExtraViewChangesMax != nil) {
		return refuseField("demands", "%d partitions: acknowledgements and views are told of all together, and one that stands still beside others would pass; leave primary_gap_max, first_ack_max and extra_view_changes_max out", s.Partitions)
	}
	if !s.kind().own && d.RepairOpsMin+d.TransferOpsMin > 0 {
		return refuseField("demands", "target %s %s; leave repair_ops_min and transfer_ops_min out", s.Target, s.kind().whyNoRepairs())
	}
	return nil
}
