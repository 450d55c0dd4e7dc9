package config

import (
	"github.com/inquest-dev/inquest/value"
)

// System holds settings of the worker processes.
type System struct {
	// Store is the database: SQLite, for one host, or PostgreSQL.
	Store Store `yaml:"store"`
	// Limits limit what requests may contain.
	Limits Limits `yaml:"limits"`
	// Environment is the name of this installation: production, staging. A rule of remembered approvals may apply to
	// one environment.
	Environment string `yaml:"environment" default:"none"`

	// HTTP controls access to the HTTP API, and its host names.
	HTTP HTTP `yaml:"http"`

	// Runbooks controls how runbooks are fetched from URLs.
	Runbooks Runbooks `yaml:"runbooks"`
	// DashboardURL is the public URL of the web page, for links in other systems: https://inquest.example.com.
	DashboardURL string `yaml:"dashboard_url" default:"none"`
	// Slack connects a workspace of Slack.
	Slack Slack `yaml:"slack"`
	// Notifications tell people and other systems about investigations.
	Notifications Notifications `yaml:"notifications"`

	// Timezone is where people work: a name such as Europe/Berlin. Each agent is told the time at which it begins, and whether people
	// work then.
	Timezone string `yaml:"timezone" default:"UTC"`
	// WorkingHours are when people work: 09:00-17:00. A shift that passes midnight belongs to the day on which it begins, and 00:00-00:00
	// means around the clock.
	WorkingHours string `yaml:"working_hours" default:"none"`
	// Weekend are the days of the week on which people do not work. They matter if another of these settings is given.
	Weekend []string `yaml:"weekend" default:"Saturday, Sunday"`
	// Holidays are the days on which people do not work.
	Holidays []Holiday `yaml:"holidays" default:"none"`

	_ struct{} `unused:"cost_estimation" instead:"costs are always estimated; set llm_providers.NAME.prices to replace list prices"`
	_ struct{} `unused:"allowed_ws_origins" instead:"the page uses no WebSockets; set its host names in http.hosts"`
	_ struct{} `unused:"prompt_caching" instead:"prompts are always arranged for caching; remove it"`
	_ struct{} `foreign:"github" instead:"use runbooks.token_env for runbooks in private repositories"`
	_ struct{} `foreign:"retention" instead:"investigations are kept; http.keep_alerts is for alerts, Temporal's retention for histories"`
}

// Holiday is a day on which people do not work.
type Holiday struct {
	// Date is a day of each year, 12-25, or of one, 2026-12-25; required.
	Date string `yaml:"date"`
	// Name is the holiday's name, for agents; required.
	Name string `yaml:"name"`
}

// Limits limit what requests may contain.
type Limits struct {
	// Data is the maximum size of a request's data. Larger data are refused, unless the request attaches them: agents
	// then see the beginning and read the rest in pages.
	Data *int `yaml:"data" min:"1" unit:"bytes" default:"262144"`
}

// Store is the database that keeps all content. Set only one of the two.
type Store struct {
	// SQLite is the path of the database file.
	SQLite string `yaml:"sqlite" default:"inquest.db in the data folder of dev; none for worker"`
	// Postgres is how to connect to PostgreSQL.
	Postgres Postgres `yaml:"postgres"`
}

// Postgres is how to connect to PostgreSQL.
type Postgres struct {
	// DSN is a connection string or URL. Use a variable for the secrets in it: "{{.DATABASE_URL}}".
	DSN string `yaml:"dsn,late"`
}

// Queue holds time limits and the concurrency of workers. Temporal itself is the queue.
type Queue struct {
	// SessionTimeout limits every investigation whose chain has no timeout.
	SessionTimeout value.Duration `yaml:"session_timeout" default:"none"`
	// GracefulShutdownTimeout is how long a stopping worker lets its running calls finish. The flag --drain overrides
	// it.
	GracefulShutdownTimeout value.Duration `yaml:"graceful_shutdown_timeout" default:"30s; 3s for dev"`
	// WorkerCount is how many model and tool calls one worker runs at once. Further calls wait in Temporal for any
	// worker. The worker runs as many quick calls (quick_under) in addition; further quick calls wait in the worker.
	// The worker also caches this many workflows in memory, and at least 200. The flags --max-calls and
	// --cached-workflows override it.
	WorkerCount *int `yaml:"worker_count" min:"1" max:"10000" default:"1000"`

	_ struct{} `unused:"max_concurrent_sessions" instead:"waiting work uses no resources; worker_count limits the calls of a worker"`
	_ struct{} `unused:"poll_interval poll_interval_jitter" instead:"workers get work from Temporal as soon as there is any; remove it"`
	_ struct{} `unused:"orphan_detection_interval orphan_threshold heartbeat_interval" instead:"Temporal reassigns lost work; remove it"`
	_ struct{} `unused:"scoring_shutdown_timeout" instead:"another worker continues the scoring; graceful_shutdown_timeout is for all calls"`
}

// Calls is how many model and tool calls one worker runs at once. Zero means not set.
func (q Queue) Calls() int {
	if q.WorkerCount == nil {
		return 0
	}
	return *q.WorkerCount
}

// Runbooks controls how runbooks are fetched if a request, a chain or defaults names them by URL:
// docs/how-to/use-runbooks.md. Only https URLs are fetched, without a proxy, within 5 seconds and up to 256 KB. Changes
// take effect at once.
type Runbooks struct {
	// RepoURL is a repository on GitHub, or a folder in one (https://github.com/acme/ops/tree/main/runbooks). `starter
	// runbooks` lists its Markdown files, and searches them by the labels of alerts.
	RepoURL string `yaml:"repo_url" default:"none"`
	// AllowedDomains are the hosts from which runbooks are fetched, including their subdomains. Redirects to other hosts
	// are refused. github.com includes the host that serves the text of its files. [] allows none.
	AllowedDomains []string `yaml:"allowed_domains" default:"github.com, raw.githubusercontent.com"`
	// CacheTTL is how long a fetched runbook is cached; 0 means not at all.
	CacheTTL *value.Duration `yaml:"cache_ttl" default:"1m"`
	// TokenEnv names the variable that holds a token for private files on GitHub. The token is sent to github.com and
	// raw.githubusercontent.com only, and to api.github.com for repo_url. Everyone who can send requests to one of the
	// projects can read all files that the token can read, so limit it to the repository with the runbooks.
	TokenEnv string `yaml:"token_env" default:"none"`
	// Projects are the only projects that see the repository's list, and for which the token is used.
	Projects []string `yaml:"projects" default:"all"`
}
