package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/inquest-dev/inquest/internal/configuration"
)

// cases are the files of values in testdata, with all objects that each makes: none for a feature that is off.
var cases = map[string][]string{
	"required": {"Deployment/inquest-main", "PodDisruptionBudget/inquest-main", "ServiceAccount/inquest"},
	"everything": {
		"ClusterRole/inquest-inquest-reader", "ClusterRoleBinding/inquest-inquest-reader", "ConfigMap/inquest-config",
		"Deployment/inquest-cluster-tools", "Deployment/inquest-main", "NetworkPolicy/inquest",
		"PodDisruptionBudget/inquest-cluster-tools", "PodDisruptionBudget/inquest-main",
		"ScaledObject/inquest-cluster-tools", "ScaledObject/inquest-main", "Service/inquest-main",
		"ServiceAccount/inquest", "ServiceAccount/inquest-reader", "ServiceMonitor/inquest",
		"TriggerAuthentication/inquest-cluster-tools", "TriggerAuthentication/inquest-main",
	},
	"outpost": {
		"ClusterRole/inquest-inquest-reader", "Deployment/inquest-tools", "RoleBinding/inquest-inquest-reader",
		"RoleBinding/inquest-inquest-reader", "ScaledObject/inquest-tools", "ServiceAccount/inquest",
		"ServiceAccount/inquest-reader", "TriggerAuthentication/inquest-tools",
	},
}

// each runs a test on the objects of every case.
func each(t *testing.T, test func(t *testing.T, o objects)) {
	t.Parallel()
	for name := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, render(t, "testdata/"+name+".yaml"))
		})
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) != len(cases) {
		t.Errorf("%d files of values, %d cases (%v)", len(files), len(cases), err)
	}
	for name, want := range cases {
		got := render(t, "testdata/"+name+".yaml").names
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: objects (-want +got):\n%s", name, diff)
		}
	}
}

// Selectors select pods, ports have names that pods have, and references lead to objects of the chart.
func TestReferences(t *testing.T) {
	each(t, func(t *testing.T, o objects) {
		if len(o.deployments) == 0 {
			t.Fatal("no Deployment")
		}
		for _, d := range o.deployments {
			pod := d.Spec.Template
			if !selects(d.Spec.Selector.MatchLabels, pod.Labels) {
				t.Errorf("%s: its selector does not select its pods", d.Name)
			}
			for _, other := range o.deployments {
				if other.Name != d.Name && selects(other.Spec.Selector.MatchLabels, pod.Labels) {
					t.Errorf("%s selects the pods of %s", other.Name, d.Name)
				}
			}
			if !slices.Contains(o.names, "ServiceAccount/"+pod.Spec.ServiceAccountName) {
				t.Errorf("%s: no service account %s", d.Name, pod.Spec.ServiceAccountName)
			}
			if scaled := slices.Contains(o.names, "ScaledObject/"+d.Name); scaled == (d.Spec.Replicas != nil) {
				t.Errorf("%s: replicas are set by %d authorities", d.Name, map[bool]int{true: 2, false: 0}[scaled])
			}
			checkVolumes(t, o, d)
		}
		for _, s := range o.services {
			pods := o.selected(s.Spec.Selector)
			if len(pods) != 1 || portOf(pods[0], s.Spec.Ports[0].TargetPort.StrVal) != 8088 {
				t.Errorf("the service %s leads to %d Deployments", s.Name, len(pods))
			}
		}
		for _, b := range o.budgets {
			if len(o.selected(b.Spec.Selector.MatchLabels)) != 1 || b.Spec.MaxUnavailable.IntVal != 1 {
				t.Errorf("the disruption budget %s: %+v", b.Name, b.Spec)
			}
		}
		for _, p := range o.policies {
			if n := len(o.selected(p.Spec.PodSelector.MatchLabels)); n != len(o.deployments) || len(p.Spec.PolicyTypes) != 2 {
				t.Errorf("the network policy covers %d of %d Deployments, types %v", n, len(o.deployments), p.Spec.PolicyTypes)
			}
		}
		for _, m := range o.monitors {
			matching := slices.DeleteFunc(slices.Clone(o.services), func(s corev1.Service) bool {
				return !selects(m.Spec.Selector.MatchLabels, s.Labels) || s.Spec.Ports[0].Name != m.Spec.Endpoints[0].Port
			})
			if len(matching) == 0 || m.Spec.Endpoints[0].Path != "/metrics" || m.Spec.Endpoints[0].Authorization.Credentials.Key == "" {
				t.Errorf("the monitor finds %d services: %+v", len(matching), m.Spec)
			}
		}
		for _, s := range o.scaled {
			trigger := s.Spec.Triggers[0]
			deployment := o.deployment(s.Spec.ScaleTargetRef.Name)
			if deployment == nil || !slices.Contains(args(*deployment), "--task-queue="+trigger.Metadata.TaskQueue) ||
				variable(*deployment, "TEMPORAL_ADDRESS") != trigger.Metadata.Endpoint ||
				variable(*deployment, "TEMPORAL_NAMESPACE") != trigger.Metadata.Namespace {
				t.Errorf("the scaled object %s watches another queue than its Deployment serves: %+v", s.Name, trigger)
			}
			if trigger.AuthenticationRef == nil || !slices.Contains(o.names, "TriggerAuthentication/"+trigger.AuthenticationRef.Name) {
				t.Errorf("the scaled object %s has no authentication", s.Name)
			}
			if trigger.Type != "temporal" || trigger.Metadata.QueueTypes != "workflow,activity" || trigger.Metadata.TargetQueueSize == "" {
				t.Errorf("the scaled object %s: %+v", s.Name, trigger)
			}
			if s.Spec.MinReplicaCount < 1 || s.Spec.MaxReplicaCount <= s.Spec.MinReplicaCount {
				t.Errorf("the scaled object %s: between %d and %d pods", s.Name, s.Spec.MinReplicaCount, s.Spec.MaxReplicaCount)
			}
		}
	})
}

func checkVolumes(t *testing.T, o objects, d appsv1.Deployment) {
	t.Helper()
	var volumes []string
	for _, v := range d.Spec.Template.Spec.Volumes {
		volumes = append(volumes, v.Name)
		if own := "inquest-config"; v.ConfigMap != nil && v.ConfigMap.Name == own && !slices.Contains(o.names, "ConfigMap/"+own) {
			t.Errorf("%s: no ConfigMap %s", d.Name, own)
		}
	}
	for _, m := range d.Spec.Template.Spec.Containers[0].VolumeMounts {
		if !slices.Contains(volumes, m.Name) {
			t.Errorf("%s: nothing to mount on %s", d.Name, m.MountPath)
		}
	}
}

// Pods may be as little as possible, and a call that has begun can end before Kubernetes kills its worker.
func TestPods(t *testing.T) {
	dockerfile, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	uid := regexp.MustCompile(`adduser -D -u (\d+) inquest`).FindStringSubmatch(string(dockerfile))
	if uid == nil {
		t.Fatal("the Dockerfile has no user")
	}
	each(t, func(t *testing.T, o objects) {
		for _, d := range o.deployments {
			spec := d.Spec.Template.Spec
			security := spec.Containers[0].SecurityContext
			if fmt.Sprint(*spec.SecurityContext.RunAsUser) != uid[1] || !*spec.SecurityContext.RunAsNonRoot ||
				spec.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: %+v", d.Name, spec.SecurityContext)
			}
			if !*security.ReadOnlyRootFilesystem || *security.AllowPrivilegeEscalation ||
				!slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("%s: %+v", d.Name, security)
			}
			if reads := spec.ServiceAccountName == "inquest-reader"; *spec.AutomountServiceAccountToken != reads {
				t.Errorf("%s: token of %s mounted: %t", d.Name, spec.ServiceAccountName, *spec.AutomountServiceAccountToken)
			}
			kill := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
			if hook := spec.Containers[0].Lifecycle; hook != nil {
				kill -= time.Duration(hook.PreStop.Sleep.Seconds) * time.Second
			}
			if drain := drain(t, d); kill <= drain+10*time.Second {
				t.Errorf("%s: killed after %v, with calls that may take %v", d.Name, kill, drain)
			}
		}
		for _, a := range o.accounts {
			if *a.AutomountServiceAccountToken {
				t.Errorf("every pod of the service account %s gets its token", a.Name)
			}
		}
	})
}

func drain(t *testing.T, d appsv1.Deployment) time.Duration {
	t.Helper()
	for _, arg := range args(d) {
		if text, ok := strings.CutPrefix(arg, "--drain="); ok {
			long, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			return long
		}
	}
	t.Fatalf("%s: no --drain", d.Name)
	return 0
}

// By default, workers wait for the longest call that the configuration's defaults allow.
func TestLongestCall(t *testing.T) {
	t.Parallel()
	c, err := configuration.Load(configuration.Source{SkipCredentials: true, Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	longest := max(c.Defaults.Timeouts.Iteration.D(), c.Defaults.Timeouts.Tool.D())
	if got := drain(t, render(t, "testdata/required.yaml").deployments[0]); longest == 0 || got < longest {
		t.Errorf("workers wait %v for their calls, which take up to %v", got, longest)
	}
}

// Secrets are references only, all to Secrets that the user named, and the chart creates none.
func TestSecrets(t *testing.T) {
	each(t, func(t *testing.T, o objects) {
		var referenced int
		for _, d := range o.deployments {
			for _, e := range d.Spec.Template.Spec.Containers[0].Env {
				switch {
				case e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil:
					referenced++
					if name := e.ValueFrom.SecretKeyRef.Name; name != "inquest" && name != "fleet" || e.ValueFrom.SecretKeyRef.Key == "" {
						t.Errorf("%s: %s is read from %+v", d.Name, e.Name, e.ValueFrom.SecretKeyRef)
					}
				case e.ValueFrom != nil || regexp.MustCompile(`KEYS?$|STORE|TOKEN|PASSWORD|://[^/]*@`).MatchString(e.Name+e.Value):
					t.Errorf("%s: %s is no reference to a Secret", d.Name, e.Name)
				}
			}
			if variable(d, "INQUEST_STORE") != "" || !has(d, "INQUEST_STORE") || !has(d, "INQUEST_ENCRYPTION_KEYS") {
				t.Errorf("%s has no store or no keys", d.Name)
			}
			if only := strings.HasSuffix(d.Name, "tools"); only == has(d, "OPENAI_API_KEY") {
				t.Errorf("%s: has the model's key: %t", d.Name, !only)
			}
		}
		if referenced < 2 {
			t.Errorf("%d references to Secrets", referenced)
		}
	})
}

// KEDA logs in to Temporal as the workers do: with their client certificate, or with their API key.
func TestLogins(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]secretTarget{
		"everything": {{"cert", "temporal-client", "tls.crt"}, {"key", "temporal-client", "tls.key"}, {"ca", "temporal-client", "ca.crt"}},
		"outpost":    {{"apiKey", "inquest", "TEMPORAL_API_KEY"}},
	} {
		for _, login := range render(t, "testdata/"+name+".yaml").logins {
			if diff := cmp.Diff(want, login.Spec.SecretTargetRef); diff != "" {
				t.Errorf("%s (-want +got):\n%s", login.Name, diff)
			}
		}
	}
}

// The role for agents only reads, and reads no Secrets. It is bound to the reader's account alone.
func TestReader(t *testing.T) {
	each(t, func(t *testing.T, o objects) {
		for _, role := range o.clusterRole {
			for _, rule := range role.Rules {
				if !slices.Equal(rule.Verbs, []string{"get", "list", "watch"}) || len(rule.Resources) == 0 {
					t.Errorf("the role may %v %v", rule.Verbs, rule.Resources)
				}
				if slices.ContainsFunc(slices.Concat(rule.Resources, rule.APIGroups), func(s string) bool {
					return s == "secrets" || strings.Contains(s, "*")
				}) {
					t.Errorf("the role may read %v of %v", rule.Resources, rule.APIGroups)
				}
			}
		}
		var namespaces []string
		for _, b := range o.bindings {
			namespaces = append(namespaces, b.Namespace)
			if b.RoleRef.Name != o.clusterRole[0].Name || len(b.Subjects) != 1 || b.Subjects[0].Name != "inquest-reader" {
				t.Errorf("a binding of %v to %v", b.RoleRef, b.Subjects)
			}
		}
		for _, b := range o.everywhere {
			if b.RoleRef.Name != o.clusterRole[0].Name || len(b.Subjects) != 1 || b.Subjects[0].Name != "inquest-reader" {
				t.Errorf("a binding of %v to %v", b.RoleRef, b.Subjects)
			}
		}
		if len(o.everywhere) == 0 && len(o.clusterRole) > 0 && !slices.Equal(namespaces, []string{"shop", "payments"}) {
			t.Errorf("bound in %v", namespaces)
		}
	})
}

func (o objects) deployment(name string) *appsv1.Deployment {
	for _, d := range o.deployments {
		if d.Name == name {
			return &d
		}
	}
	return nil
}

func (o objects) selected(selector map[string]string) (found []appsv1.Deployment) {
	for _, d := range o.deployments {
		if selects(selector, d.Spec.Template.Labels) {
			found = append(found, d)
		}
	}
	return found
}

// selects reports whether a selector, which must not be empty, selects labels.
func selects(selector, of map[string]string) bool {
	return len(selector) > 0 && labels.SelectorFromSet(selector).Matches(labels.Set(of))
}

func args(d appsv1.Deployment) []string { return d.Spec.Template.Spec.Containers[0].Args }

// portOf returns the number of a named port; 0 means that there is none.
func portOf(d appsv1.Deployment, name string) int32 {
	for _, p := range d.Spec.Template.Spec.Containers[0].Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}

func has(d appsv1.Deployment, name string) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == name })
}

// variable returns the literal value of a variable.
func variable(d appsv1.Deployment, name string) string {
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}
