package devserver

import (
	"net"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// serverOptions put all four services into this process. They find each other by static addresses; no gossip.
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
			NumHistoryShards: 1, // more gain nothing on one connection; fixed once written
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

// clusterConfig describes a cluster that is alone: no global namespaces, nothing replicated.
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
