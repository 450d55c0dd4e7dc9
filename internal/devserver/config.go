package devserver

import (
	"net"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// serverOptions runs all four services in this process. They find each other by static addresses, without gossip.
func serverOptions(a addresses, db *config.SQL, logger *logger) []temporal.ServerOption {
	return []temporal.ServerOption{
		temporal.WithConfig(serverConfig(a, db)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(map[primitives.ServiceName]static.Hosts{
			primitives.FrontendService: static.SingleLocalHost(dialAddress(a.frontend)),
			primitives.HistoryService:  static.SingleLocalHost(dialAddress(a.history)),
			primitives.MatchingService: static.SingleLocalHost(dialAddress(a.matching)),
			primitives.WorkerService:   static.SingleLocalHost(dialAddress(a.worker)),
		}),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithDynamicConfigClient(dynamicConfig()),
	}
}

func serverConfig(a addresses, db *config.SQL) *config.Config {
	const store, disabled = "sqlite", "disabled"
	return &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     store,
			VisibilityStore:  store,
			NumHistoryShards: 1, // more gain nothing on one connection; cannot be changed later
			DataStores:       map[string]config.DataStore{store: {SQL: db}},
		},
		ClusterMetadata: clusterConfig(a),
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(a.frontend),
			string(primitives.HistoryService):  service(a.history),
			string(primitives.MatchingService): service(a.matching),
			string(primitives.WorkerService):   service(a.worker),
		},
		PublicClient:        config.PublicClient{HostPort: dialAddress(a.frontend)},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: disabled},
			Visibility: config.VisibilityArchival{State: disabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: disabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: disabled},
		}},
	}
}

// clusterConfig describes a single cluster: no global namespaces, no replication.
func clusterConfig(a addresses) *cluster.Config {
	return &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{
			clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: dialAddress(a.frontend)},
		},
	}
}

func service(a *net.TCPAddr) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: a.Port, BindOnIP: a.IP.String()}}
}

// dynamicConfig tunes for latency on one host. The keys are typed, because Temporal silently ignores unknown ones.
func dynamicConfig() dynamicconfig.StaticClient {
	const pollsPerSecond = 2000
	return dynamicconfig.StaticClient{
		// With the default of 20 polls per second, each step of a workflow waits for the next poll: an activity's round trip takes
		// 50 ms instead of 6.
		dynamicconfig.TransferProcessorMaxPollRPS.Key():   pollsPerSecond,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():      pollsPerSecond,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): pollsPerSecond,

		// By default, no timer fires in less than a second, neither a short sleep nor the first retry of an activity. Timers due
		// within this time are read together: each activity has one, and with 10 ms they took 5 % of the CPU.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): 100 * time.Millisecond,

		// The default extends every run that continues as new to at least a second.
		dynamicconfig.WorkflowIdReuseMinimalInterval.Key(): time.Millisecond,

		// Four partitions spread a queue over hosts. On one host they only forward tasks to each other.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

		// Off by default. Without it, the fairness keys of tasks (a request's tenant) have no effect.
		dynamicconfig.MatchingEnableFairness.Key(): true,

		// The UI and all other list calls share this budget. The default is 10 per second.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 200,

		// A search attribute is usable immediately after its registration. Workers register theirs when they start. Without this, a
		// workflow that upserts one before the server refreshes its cache fails its task and waits 10 s for the next.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,

		// The default of 128,000 workflows in memory is for a cluster.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 8192,

		// No calls to external services.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
}
