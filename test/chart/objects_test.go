// Package chart checks the Helm chart: what Helm's own library renders from it, and that the real worker accepts the result.
package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const chartDir = "../../deploy/helm/inquest"

// helm and worker are the paths of the programs that TestMain builds.
var helm, worker string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "inquest-chart-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	helm, worker = filepath.Join(dir, "helm"), filepath.Join(dir, "worker")
	for _, args := range [][]string{{"-C", "../tools/helm", "-o", helm, "."}, {"-o", worker, "../../worker"}} {
		args = slices.Concat([]string{"build"}, args[:len(args)-1], []string{"-ldflags", "-s -w"}, args[len(args)-1:])
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go %v: %v\n%s", args, err, out)
			return 1
		}
	}
	return m.Run()
}

// objects are rendered objects by kind. The name of each is in names, as KIND/NAME.
type objects struct {
	names       []string
	configMaps  []corev1.ConfigMap
	deployments []appsv1.Deployment
	services    []corev1.Service
	accounts    []corev1.ServiceAccount
	budgets     []policyv1.PodDisruptionBudget
	policies    []networkingv1.NetworkPolicy
	clusterRole []rbacv1.ClusterRole
	bindings    []rbacv1.RoleBinding
	everywhere  []rbacv1.ClusterRoleBinding
	scaled      []scaledObject
	logins      []triggerAuthentication
	monitors    []serviceMonitor
}

// scaledObject has the fields of apis/keda/v1alpha1 (KEDA 2.22) that the chart uses. The metadata are parameters of the scaler for
// Temporal: https://keda.sh/docs/2.22/scalers/temporal/
type scaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef  named     `json:"scaleTargetRef"`
		MinReplicaCount int       `json:"minReplicaCount"`
		MaxReplicaCount int       `json:"maxReplicaCount"`
		Triggers        []trigger `json:"triggers"`
	} `json:"spec"`
}

type named struct {
	Name string `json:"name"`
}

type trigger struct {
	Type     string `json:"type"`
	Metadata struct {
		Endpoint        string `json:"endpoint"`
		Namespace       string `json:"namespace"`
		TaskQueue       string `json:"taskQueue"`
		QueueTypes      string `json:"queueTypes"`
		TargetQueueSize string `json:"targetQueueSize"`
	} `json:"metadata"`
	AuthenticationRef *named `json:"authenticationRef"`
}

// triggerAuthentication is from the same package. The scaler's parameters are apiKey, cert, key and ca.
type triggerAuthentication struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		SecretTargetRef []secretTarget `json:"secretTargetRef"`
	} `json:"spec"`
}

type secretTarget struct {
	Parameter string `json:"parameter"`
	Name      string `json:"name"`
	Key       string `json:"key"`
}

// serviceMonitor has the fields of monitoring.coreos.com/v1 (Prometheus Operator) that the chart uses.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []endpoint           `json:"endpoints"`
	} `json:"spec"`
}

type endpoint struct {
	Port          string `json:"port"`
	Path          string `json:"path"`
	Interval      string `json:"interval"`
	Authorization struct {
		Type        string                   `json:"type"`
		Credentials corev1.SecretKeySelector `json:"credentials"`
	} `json:"authorization"`
}

// render returns the objects for a file of values. No object has a field that its kind does not have.
func render(t *testing.T, values string) objects {
	t.Helper()
	readInputs(t)
	var stderr bytes.Buffer
	cmd := exec.Command(helm, chartDir, values)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("render with %s: %v\n%s", values, err, &stderr)
	}
	var all objects
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(out)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := all.add(document); err != nil {
			t.Fatalf("%s: %v\n%s", values, err, document)
		}
	}
}

// readInputs opens the files that other programs read for a test, because go test caches results until a file changes that the test
// itself has opened.
func readInputs(t *testing.T) {
	t.Helper()
	for _, dir := range []string{chartDir, "testdata", "../tools/helm", "../../worker"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.ReadFile(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (o *objects) add(document []byte) error {
	var head metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(document, &head); err != nil || head.Kind == "" {
		return err // an empty document
	}
	o.names = append(o.names, head.Kind+"/"+head.Name)
	problems := validation.IsDNS1123Label(head.Name)
	for name, value := range head.Labels {
		problems = slices.Concat(problems, validation.IsQualifiedName(name), validation.IsValidLabelValue(value))
	}
	if len(problems) > 0 {
		return fmt.Errorf("metadata: %q", problems)
	}
	switch head.APIVersion + " " + head.Kind {
	case "v1 ConfigMap":
		return decode(document, &o.configMaps)
	case "v1 Service":
		return decode(document, &o.services)
	case "v1 ServiceAccount":
		return decode(document, &o.accounts)
	case "apps/v1 Deployment":
		return decode(document, &o.deployments)
	case "policy/v1 PodDisruptionBudget":
		return decode(document, &o.budgets)
	case "networking.k8s.io/v1 NetworkPolicy":
		return decode(document, &o.policies)
	case "rbac.authorization.k8s.io/v1 ClusterRole":
		return decode(document, &o.clusterRole)
	case "rbac.authorization.k8s.io/v1 RoleBinding":
		return decode(document, &o.bindings)
	case "rbac.authorization.k8s.io/v1 ClusterRoleBinding":
		return decode(document, &o.everywhere)
	case "keda.sh/v1alpha1 ScaledObject":
		return decode(document, &o.scaled)
	case "keda.sh/v1alpha1 TriggerAuthentication":
		return decode(document, &o.logins)
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return decode(document, &o.monitors)
	}
	return fmt.Errorf("an object of kind %s, version %s, which this test does not know", head.Kind, head.APIVersion)
}

// decode decodes a document as the API server does with strict field validation: names of fields in their exact case, and no number
// for a text.
func decode[T any](document []byte, to *[]T) error {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	var object T
	strict, err := kjson.UnmarshalStrict(text, &object)
	if err := errors.Join(append(strict, err)...); err != nil {
		return err
	}
	*to = append(*to, object)
	return nil
}
