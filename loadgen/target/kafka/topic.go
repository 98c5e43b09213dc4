package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicOptions say how [CreateTopic] makes a topic of one partition.
type TopicOptions struct {
	Name      string
	Replicas  []int32 // ids of the brokers that it is to lie on
	MinInSync int
	Sync      Sync
}

// Settings are the topic's settings that differ from the brokers' defaults, by Kafka's names.
func (o TopicOptions) Settings() map[string]string {
	settings := map[string]string{
		"min.insync.replicas": strconv.Itoa(o.MinInSync),
		"retention.ms":        "-1", // what was acknowledged is read back at the end, however long the run
		"retention.bytes":     "-1",
	}
	if o.Sync == SyncEach {
		settings["flush.messages"] = "1"
	}
	return settings
}

// ErrTopicExists is the answer to [CreateTopic] where there is one of that name.
var ErrTopicExists error = kerr.TopicAlreadyExists

// CreateTopic makes the topic by way of whichever broker the cluster wants asked. A topic that exists
// is an error: it may hold what others wrote.
func CreateTopic(ctx context.Context, addresses []string, o TopicOptions) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = o.Name, -1, -1 // as assigned below
	assigned := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	assigned.Replicas = o.Replicas
	topic.ReplicaAssignment = append(topic.ReplicaAssignment, assigned)
	for name, value := range o.Settings() {
		setting := kmsg.NewCreateTopicsRequestTopicConfig()
		setting.Name, setting.Value = name, kmsg.StringPtr(value)
		topic.Configs = append(topic.Configs, setting)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	request.TimeoutMillis = int32(adminLimit.Milliseconds())
	client, err := kgo.NewClient(clientOptions(addresses...)...)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", o.Name, err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, adminLimit)
	defer cancel()
	answer, err := client.Request(ctx, request)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", o.Name, err)
	}
	for _, t := range answer.(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			if t.ErrorMessage != nil {
				err = fmt.Errorf("%w: %.300s", err, *t.ErrorMessage)
			}
			return fmt.Errorf("create topic %s: %w", o.Name, err)
		}
	}
	return nil
}

// adminLimit is how long a question about the cluster may take.
const adminLimit = 10 * time.Second

// Cluster is what one broker knows of the cluster and of one partition.
type Cluster struct {
	Brokers  []Broker // registered and not fenced, without names
	Leader   int32    // of the partition; -1: none
	Epoch    int32    // of the leader
	Replicas []int32  // where the partition lies; empty: there is no such topic
	InSync   []int32
}

// Addresses are those of the brokers.
func (c Cluster) Addresses() []string {
	var all []string
	for _, b := range c.Brokers {
		all = append(all, b.Address)
	}
	return all
}

// DescribeCluster asks the broker at an address.
func DescribeCluster(ctx context.Context, address, topic string, partition int32) (Cluster, error) {
	l := newLink(address)
	defer l.close()
	return describe(ctx, l, topic, partition, time.Now().Add(adminLimit))
}

func describe(ctx context.Context, l *link, topic string, partition int32, deadline time.Time) (Cluster, error) {
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = kmsg.StringPtr(topic)
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = append(request.Topics, asked)
	answer, failed := l.do(ctx, request, deadline)
	if failed != nil {
		return Cluster{}, failed
	}
	response := answer.(*kmsg.MetadataResponse)
	c := Cluster{Leader: -1, Epoch: -1}
	for _, b := range response.Brokers {
		c.Brokers = append(c.Brokers, Broker{ID: b.NodeID, Address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))})
	}
	for _, t := range response.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			continue
		}
		if err != nil {
			return c, fmt.Errorf("topic %s: %w", topic, err)
		}
		for _, p := range t.Partitions {
			if p.Partition == partition {
				c.Leader, c.Epoch, c.Replicas, c.InSync = p.Leader, p.LeaderEpoch, p.Replicas, p.ISR
			}
		}
	}
	return c, nil
}
