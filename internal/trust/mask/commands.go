package mask

import (
	"slices"
	"strings"
)

// command describes how a program gets a password on its command line, other than by an option whose name says so.
type command struct {
	names []string
	sub   string   // only after this word: docker login
	flags []string // the password is the next word
	glued string   // … or the rest of the same word: -pX
	split byte     // in the word after a flag, the secret is after this byte: user:X
	joins bool     // flags of one letter may follow others: -su
	arg   int      // … or the argument with this number, from 1, without options; 0 means none
}

var commands = []command{
	{names: []string{"mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump"}, glued: "-p"},
	{names: []string{"mysqladmin"}, sub: "password", arg: 1},
	{names: []string{"7z", "7za", "rar", "unrar"}, glued: "-p"},
	{names: []string{"sshpass"}, flags: []string{"-p"}, glued: "-p"},
	{names: []string{"redis-cli"}, flags: []string{"-a"}},
	{names: []string{"mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "cqlsh"}, flags: []string{"-p"}, glued: "-p"},
	{names: []string{"docker", "podman", "buildah", "skopeo", "helm", "oras", "crane", "az", "oc", "heroku"},
		sub: "login", flags: []string{"-p"}},
	{names: []string{"ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami"}, flags: []string{"-w"}, glued: "-w"},
	{names: []string{"sqlcmd", "bcp", "ipmitool", "zip", "unzip", "mosquitto_pub", "mosquitto_sub"}, flags: []string{"-P"}, glued: "-P"},
	{names: []string{"openssl"}, flags: []string{"-k"}},
	{names: []string{"openssl"}, flags: []string{"-passin", "-passout", "-pass"}, split: ':'},
	{names: []string{"snmpget", "snmpwalk", "snmpset", "snmpbulkwalk"}, flags: []string{"-A", "-X", "-c"}},
	{names: []string{"curl"}, flags: []string{"-u", "-U", "--user", "--proxy-user", "-E", "--cert", "--proxy-cert"},
		glued: "-u", split: ':', joins: true},
	{names: []string{"curl"}, flags: []string{"-b", "--cookie"}, split: '='},
	{names: []string{"http", "https", "xh", "xhs"}, flags: []string{"-a", "--auth"}, split: ':'},
	{names: []string{"kubectl", "oc"}, sub: "secret", flags: []string{"--from-literal"}, glued: "--from-literal=", split: '='},
	{names: []string{"ssh-keygen"}, flags: []string{"-N", "-P"}},
	{names: []string{"rabbitmqadmin"}, flags: []string{"-p"}},
	{names: []string{"nmcli"}, flags: []string{"password", "wifi-sec.psk"}},
	{names: []string{"rclone"}, sub: "config", flags: []string{"pass", "password"}},
	{names: []string{"mc"}, sub: "set", arg: 3},
	{names: []string{"mc"}, sub: "set", arg: 4},
	{names: []string{"ConvertTo-SecureString"}, flags: []string{"-String"}},
	{names: []string{"ConvertTo-SecureString"}, arg: 1},
	{names: []string{"smbclient", "rpcclient"}, flags: []string{"-U"}, split: '%'},
	{names: []string{"vault"}, sub: "login", arg: 1},
	{names: []string{"rabbitmqctl"}, sub: "add_user", arg: 2},
	{names: []string{"rabbitmqctl"}, sub: "change_password", arg: 2},
	{names: []string{"net"}, sub: "user", arg: 2},
	{names: []string{"htpasswd"}, sub: "-b", arg: 3},
	{names: []string{"sqlplus"}, arg: 1, split: '/'},
	{names: []string{"setx"}, arg: 2},
}

// commandsBy finds commands by their names.
var commandsBy = func() map[string][]command {
	out := map[string][]command{}
	for _, c := range commands {
		for _, name := range c.names {
			out[name] = append(out[name], c)
		}
	}
	return out
}()

const maxCommand = 64 // words of a command to examine

// commandLines masks passwords on the command lines of known programs.
func (m *Masker) commandLines(text string) string {
	out := rewrite{text: text}
	for i := 0; i < len(text); {
		if !isAlnum(text[i]) {
			i++
			continue
		}
		end := past(text, i, isKeyByte)
		if all := commandsBy[text[i:end]]; len(all) > 0 && end < len(text) && isBlank(text[end]) {
			words := shellWords(text, end)
			for _, c := range all {
				if secret, ok := c.secrets(text, words); ok {
					out.replaceAll(secret, m.on.first([]kind{password, basicAuth}))
				}
			}
		}
		i = max(end, out.done)
	}
	return out.String()
}

// replaceAll replaces secrets with markers, except for markers and references.
func (r *rewrite) replaceAll(secrets []span, k kind) {
	for _, s := range secrets {
		if s.start >= r.done && !isPlaceholder(r.text[s.start:s.end]) {
			r.replace(s.start, s.end, k.marker())
		}
	}
}

// shellWords returns the words of the command whose name ends at i, without their quotes. Another known command ends it.
func shellWords(text string, i int) (words []span) {
	for len(words) < maxCommand {
		for i < len(text) && (isBlank(text[i]) || text[i] == '\\' && i+1 < len(text) && text[i+1] == '\n') {
			if text[i] == '\\' {
				i++
			}
			i++
		}
		if i == len(text) || strings.IndexByte("\n\r;|&<>)", text[i]) >= 0 {
			break
		}
		w := span{i, i}
		for quote := byte(0); i < len(text); i++ {
			c := text[i]
			if quote == 0 && (isSpace(c) || strings.IndexByte(";|&<>)", c) >= 0) || c == '\n' {
				break
			}
			switch {
			case quote == c:
				quote = 0
			case quote == 0 && isQuote(c):
				quote = c
			}
		}
		w.end = i
		if i == w.start || commandsBy[text[w.start:i]] != nil {
			break
		}
		words = append(words, w)
	}
	return words
}

// secrets returns the secret parts of a command's words.
func (c command) secrets(text string, words []span) (out []span, ok bool) {
	from := 0
	if c.sub != "" {
		from = slices.IndexFunc(words, func(w span) bool { return text[w.start:w.end] == c.sub }) + 1
		if from == 0 {
			return nil, false
		}
	}
	args := 0
	for n := from; n < len(words); n++ {
		w := words[n]
		word := text[w.start:w.end]
		switch {
		case (slices.Contains(c.flags, word) || c.joined(word)) && n+1 < len(words):
			n++
			out = append(out, c.within(text, words[n]))
		case c.glued != "" && len(word) > len(c.glued) && strings.HasPrefix(word, c.glued):
			out = append(out, c.within(text, span{w.start + len(c.glued), w.end}))
		case word[0] != '-':
			if args++; args == c.arg && !strings.Contains(word, "=") {
				out = append(out, c.within(text, w))
			}
		}
	}
	return out, len(out) > 0
}

// joined reports whether a word consists of one-letter flags and the last one is a flag of the command.
func (c command) joined(word string) bool {
	return c.joins && len(word) > 2 && word[0] == '-' && !strings.ContainsFunc(word[1:], func(r rune) bool { return !isLetter(r) }) &&
		slices.Contains(c.flags, "-"+word[len(word)-1:])
}

// within returns the secret in a word: without quotes, after the split byte, and before the host that it is for.
func (c command) within(text string, w span) span {
	for w.end-w.start >= 2 && isQuote(text[w.start]) && text[w.end-1] == text[w.start] {
		w.start, w.end = w.start+1, w.end-1
	}
	if c.split == 0 {
		return w
	}
	user, _, ok := strings.Cut(text[w.start:w.end], string(c.split))
	if !ok || strings.Trim(user, "0123456789.") == "" {
		return span{w.end, w.end}
	}
	w.start += len(user) + 1
	for w.end-w.start >= 2 && isQuote(text[w.start]) && text[w.end-1] == text[w.start] {
		w.start, w.end = w.start+1, w.end-1
	}
	if host := strings.LastIndexByte(text[w.start:w.end], '@'); c.split == '/' && host >= 0 {
		w.end = w.start + host
	}
	return w
}
