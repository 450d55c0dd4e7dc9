package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// Clients reach Temporal behind TLS, with an API key or a client certificate, using the variables of Temporal's
// own CLI. A client that is rejected reports the reason and exits.
func TestTemporalBehindTLS(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, nil)
	dev := w.dev("--no-worker")
	g := newGateway(t, w.address)
	authority := "TEMPORAL_TLS_SERVER_CA_CERT_PATH=" + g.authority.file
	withKey := "TEMPORAL_API_KEY=" + temporalKey
	certificate, key := g.authority.clientFiles(t)
	tests := []struct {
		name  string
		env   []string
		wrong string // text of the error; empty means success
	}{
		{"a key", []string{authority, withKey}, ""},
		{"a client's certificate", []string{authority, "TEMPORAL_TLS_CLIENT_CERT_PATH=" + certificate, "TEMPORAL_TLS_CLIENT_KEY_PATH=" + key},
			""},
		{"another authority", []string{"TEMPORAL_TLS_SERVER_CA_CERT_PATH=" + newAuthority(t).file, withKey},
			"certificate signed by unknown authority"},
		{"no authority", []string{withKey}, "certificate signed by unknown authority"},
		{"another name", []string{authority, withKey, "TEMPORAL_TLS_SERVER_NAME=temporal.example"},
			"certificate is not valid for any names, but wanted to match temporal.example"},
		{"no key", []string{authority}, "it does not accept these credentials"},
		{"another key", []string{authority, "TEMPORAL_API_KEY=x" + temporalKey}, "it does not accept these credentials"},
		{"no such file", []string{"TEMPORAL_TLS_SERVER_CA_CERT_PATH=/nowhere.pem", withKey}, "/nowhere.pem"},
		{"TLS switched off", []string{"TEMPORAL_TLS=false", withKey}, "it closed the connection, maybe because it requires TLS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			through := w.with(append(tt.env, "TEMPORAL_ADDRESS="+g.address)...)
			through.t = t
			if tt.wrong != "" {
				through.refused(tt.wrong)
				return
			}
			// A separate queue keeps the other worker out.
			worker := through.worker("--log-level", "debug", "--task-queue", tt.name)
			out, errs, code := through.starter("", "run", "--task-queue", tt.name, "--alert-type", "lab", "--data", "what happened?",
				"--workflow-id", tt.name)
			if code != 0 || !strings.Contains(out, "the report of gamma") {
				t.Errorf("exit code %d:\n%s%s", code, out, errs)
			}
			if code := worker.terminate(); code != 0 {
				t.Errorf("the worker ended with %d:\n%s", code, worker.log)
			}
			through.hidden(out + errs + worker.log.String())
		})
	}
	t.Cleanup(func() { // after all of them have ended
		w.hidden(dev.log.String())
		for _, method := range []string{"PollActivityTaskQueue", "RespondWorkflowTaskCompleted", "StartWorkflowExecution"} {
			if !g.calledByKey(method) {
				t.Errorf("nobody has called %s with the key", method)
			}
		}
	})
}

// refused runs a worker and the CLI against a Temporal that rejects them.
func (w *world) refused(why string) {
	w.t.Helper()
	for _, command := range [][]string{{"worker", "--config", w.config}, {"starter", "run", "--alert-type", "lab", "--data", "x"}} {
		out, errs, code := w.program(filepath.Join(bin, command[0]), "", command[1:]...)
		if code == 0 || !strings.Contains(errs, why) {
			w.t.Errorf("%s: exit code %d, and it does not say %q:\n%s%s", command[0], code, why, out, errs)
		}
		w.hidden(out + errs)
	}
}

// hidden checks that output does not contain the keys.
func (w *world) hidden(output string) {
	w.t.Helper()
	for _, secret := range []string{temporalKey, key} {
		if strings.Contains(output, secret) {
			w.t.Errorf("%q is in the output:\n%s", secret, output)
		}
	}
}
