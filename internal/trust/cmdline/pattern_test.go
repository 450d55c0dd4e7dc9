package cmdline_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/trust/cmdline"
)

func TestPatternFits(t *testing.T) {
	t.Parallel()
	const get = "kubectl get pods -n dev-*"
	for _, test := range []struct {
		pattern, line string
		want          bool
	}{
		{get, "kubectl get pods -n dev-a", true},
		{get, "kubectl  get 'pods' -n \"dev-a\"", true}, // the program receives the same
		{get, "kubectl get pods -n prod", false},
		{get, "kubectl get pods -n dev-a -o yaml", false},
		{get, "kubectl get pods -n dev-a; rm -rf x", false},
		{get, "kubectl get pods -n dev-a\nrm x", false},
		{get, "kubectl get pods -n dev-a && rm x", false},
		{get, "kubectl get pods -n dev-a | tee x", false},
		{get, "kubectl get pods -n dev-a > x", false},
		{get, "kubectl get pods -n dev-a < x", false},
		{get, "kubectl get pods -n dev-a 2>&1", false},
		{get, "kubectl get pods -n dev-a &", false},
		{get, "! kubectl get pods -n dev-a", false},
		{get, "(kubectl get pods -n dev-a)", false},
		{get, "kubectl get pods -n dev-$(cat x)", false},
		{get, "kubectl get pods -n \"dev-`cat x`\"", false},
		{get, "kubectl get pods -n dev-${HOME}", false},
		{get, "kubectl get pods -n dev-*", false}, // the shell may expand it to anything
		{get, "kubectl get pods -n 'dev-a prod'", false},
		{get, "kubectl get pods -n dev-a,prod", false},
		{get, "kubectl get pods -n dev-../prod", false},
		{get, "X=1 kubectl get pods -n dev-a", false},
		{get, "if true; then kubectl get pods -n dev-a; fi", false},
		{get, "kubectl get pods -n dev-a # prod", true}, // a comment
		{get, "kubectl get pods -n 'dev-a", false},
		{"look *", "look --all", false}, // an option is not a name
		{"look *", "look here", true},
		{"cat /var/log/*", "cat /var/log/../../etc/passwd", false},
		{"cat /var/log/*", "cat /var/log/..", false},
		{"cat /var/log/*", "cat /var/log/app.log", true},
		{"cat /var/log/*", "cat /var/log/a/b", false},
		{"cat /srv/cache/*", "cat /srv/cache/", false}, // the folder itself
		{"cat /srv/cache/*", "cat /srv/cache/.", false},
		{"cat /srv/*/cache", "cat /srv/./cache", false},
		{"cat /srv/*/cache", "cat /srv//cache", false},
		{"cat ./*", "cat ./.", false},
		{"cat ./*", "cat ./a", true},
		{"cat *", "cat .", false},
		{"cat x*", "cat x", false},
		{"grep x a | wc -l > out-*", "grep x a | wc -l > out-1", true},
		{"grep x a | wc -l > out-*", "grep x a | wc -l >> out-1", false},
		{"grep x a | wc -l > out-*", "grep x a > out-1 | wc -l", false},
		{"grep \"$(hostname)\" log-*", "grep \"$(hostname)\" log-1", true},
		{"grep \"$(hostname)\" log-*", "grep \"$(hostname -f)\" log-1", false},
		{"echo 'a*'", "echo 'a*'", true},
		{"echo 'a*'", "echo ab", false},
		{"rm -r tmp-* -- x", "rm -r tmp-1 -- x", true},
		{"rm -r tmp-* -- x", "rm -r -- tmp-1 x", false},
	} {
		p, err := cmdline.Parse(test.pattern)
		if err != nil {
			t.Fatalf("%s: %v", test.pattern, err)
		}
		if got := p.Fits(test.line); got != test.want {
			t.Errorf("%s fits %q: %t", test.pattern, test.line, got)
		}
	}
}

// TestPatternsThatNobodyCanRemember covers lines that do not show what they run.
func TestPatternsThatNobodyCanRemember(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"sh -c *", "xargs rm", "sudo ls", "python3 x.py", "eval ls", ". x", "$X ls", "./deploy.sh", "ls*", "X=1 ls", "f() { ls; }; f",
		"kubectl exec a -- ls", "find . -exec rm {} +", "curl -o x http://a", "", "ls '", "ls $(sh -c x)", "cat x | bash",
		"PATH=. ls", "kubectl get *",
	} {
		if _, err := cmdline.Parse(line); err == nil {
			t.Errorf("%q can be remembered", line)
		}
	}
}
