package mask

import (
	"slices"
	"strings"
)

// databases are the URL schemes of databases and brokers.
var databases = []string{
	"postgres", "postgresql", "mysql", "mariadb", "mongodb", "redis", "rediss", "amqp", "amqps", "sqlserver",
	"oracle", "clickhouse", "cockroachdb", "cassandra", "nats", "kafka", "mssql", "db2", "snowflake", "couchbase", "memcached",
}

const (
	maxUserinfo = 2048 // bytes of a URL
	maxDSN      = 256  // bytes before the @ of a DSN
)

// userinfo masks passwords in URLs, https://user:password@host, and in DSNs, user:password@tcp(host).
func (m *Masker) userinfo(text string) string {
	out := rewrite{text: text}
	for i := 0; i < len(text); {
		next := strings.IndexByte(text[i:], ':')
		if next < 0 {
			break
		}
		i += next
		if !strings.HasPrefix(text[i:], "://") {
			i++
			continue
		}
		k := m.kindOfURL(text[:i])
		secret := passwordOf(text, i+len("://"))
		i += len("://")
		if k != none && secret.end > secret.start && !isMarker(text[secret.start:secret.end]) {
			out.replace(secret.start, secret.end, k.marker())
			i = secret.end
		}
	}
	text = out.String()
	if m.on.has(basicAuth) {
		text = curlUsers(text)
	}
	if m.on.has(databaseDSN) {
		text = driverDSNs(text)
	}
	return text
}

// kindOfURL returns the kind of a password by the scheme at the end of a text.
func (m *Masker) kindOfURL(before string) kind {
	end := len(before)
	start := back(before, end, max(0, end-maxScheme), func(c byte) bool { return isAlnum(c) || c == '+' })
	scheme, _, _ := strings.Cut(before[start:], "+") // postgresql+psycopg2
	if slices.Contains(databases, strings.ToLower(scheme)) {
		return m.on.first([]kind{databaseDSN, basicAuth})
	}
	if !m.on.has(basicAuth) {
		return none
	}
	return basicAuth
}

// passwordOf finds the password, or the token in place of the user name, in the part of a URL after its scheme.
func passwordOf(text string, i int) (secret span) {
	colon, at, slash := -1, -1, -1
	end := i
	for ; end < len(text) && end-i < maxUserinfo; end++ {
		c := text[end]
		if isSpace(c) || isQuote(c) || c == '<' || c == '>' || c == '\\' || c == ':' && strings.HasPrefix(text[end:], "://") {
			break
		}
		switch {
		case c == ':' && colon < 0 && at < 0:
			colon = end
		case c == '@' && (slash < 0 || at < 0 && colon >= 0 && colon < slash && !allDigits(text[colon+1:slash])):
			at = end
		case (c == '/' || c == '?' || c == '#') && slash < 0:
			slash = end
		}
	}
	switch {
	case at < 0 || colon > at:
		return secret
	case colon >= 0 && (colon+1 == at || text[colon+1:at] == "x-oauth-basic") && colon-i >= 20 && mixed(text[i:colon]):
		return span{i, colon} // the token is the user name
	case colon >= 0:
		return span{colon + 1, at}
	case at-i >= 20 && mixed(text[i:at]):
		return span{i, at}
	}
	return secret
}

func allDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// driverDSNs masks the password in user:password@tcp(host:3306)/database.
func driverDSNs(text string) string {
	out := rewrite{text: text}
	last := 0 // end of the previous one
	for i := 0; ; {
		next := strings.Index(text[i:], "@")
		if next < 0 {
			return out.String()
		}
		at := i + next
		i = at + 1
		if !strings.HasPrefix(text[i:], "tcp(") && !strings.HasPrefix(text[i:], "unix(") {
			continue
		}
		start := back(text, at, max(last, at-maxDSN), func(c byte) bool { return isWord(c) && c != '=' })
		if colon := strings.IndexByte(text[start:at], ':'); colon >= 0 && !isMarker(text[start+colon+1:at]) && start+colon+1 < at {
			out.replace(start+colon+1, at, databaseDSN.marker())
		}
		last = i
	}
}

// curlUsers masks the password in -u user:password and --user user:password.
func curlUsers(text string) string {
	out := rewrite{text: text}
	for i := 0; ; {
		next := strings.Index(text[i:], "-u")
		if next < 0 {
			return out.String()
		}
		i += next + len("-u")
		if before := i - len("-u") - 1; before >= 0 && !isSpace(text[before]) && !isQuote(text[before]) && text[before] != '-' {
			continue
		}
		i += len(text[i:]) - len(strings.TrimPrefix(text[i:], "ser"))
		start := near(text, i, maxBlanks, func(c byte) bool { return isGap(c) || c == '=' || c == ',' })
		end := past(text, start, isWord)
		colon := strings.IndexByte(text[start:end], ':')
		password := start + colon + 1
		if colon > 0 && start > i && strings.Trim(text[start:start+colon], "0123456789.") != "" && password < end &&
			!isPlaceholder(text[password:end]) && !strings.HasPrefix(text[start+colon:], "://") {
			out.replace(password, end, basicAuth.marker())
		}
		i = end
	}
}

func isWord(c byte) bool { return !isSpace(c) && !isQuote(c) }
