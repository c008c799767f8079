package deploy_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

type labels map[string]string

type metadata struct {
	Name        string `yaml:"name"`
	Labels      labels `yaml:"labels"`
	Annotations labels `yaml:"annotations"`
}

// Head begins each of them. The decoder sees names in capitals alone.
type Head struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
}

type selector struct {
	MatchLabels labels `yaml:"matchLabels"`
}

type configMap struct {
	Head `yaml:",inline"`
	Data map[string]string `yaml:"data"`
}

type budget struct {
	Head `yaml:",inline"`
	Spec struct {
		MinAvailable int      `yaml:"minAvailable"`
		Selector     selector `yaml:"selector"`
	} `yaml:"spec"`
}

type kubeService struct {
	Head `yaml:",inline"`
	Spec struct {
		ClusterIP string `yaml:"clusterIP"`
		NotReady  bool   `yaml:"publishNotReadyAddresses"`
		Selector  labels `yaml:"selector"`
		Ports     []struct {
			Name       string `yaml:"name"`
			Port       int    `yaml:"port"`
			TargetPort string `yaml:"targetPort"`
		} `yaml:"ports"`
	} `yaml:"spec"`
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
	Period    int `yaml:"periodSeconds"`
	Timeout   int `yaml:"timeoutSeconds"`
	Threshold int `yaml:"failureThreshold"`
}

type container struct {
	Name  string   `yaml:"name"`
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Env   []struct {
		Name      string `yaml:"name"`
		Value     string `yaml:"value"`
		ValueFrom struct {
			SecretKeyRef struct {
				Name string `yaml:"name"`
				Key  string `yaml:"key"`
			} `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	} `yaml:"env"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	StartupProbe   probe `yaml:"startupProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	Resources      struct {
		Requests labels `yaml:"requests"`
		Limits   labels `yaml:"limits"`
	} `yaml:"resources"`
	SecurityContext struct {
		Escalation   *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities struct {
			Drop []string `yaml:"drop"`
		} `yaml:"capabilities"`
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type podSpec struct {
	Token           *bool `yaml:"automountServiceAccountToken"`
	ServiceLinks    *bool `yaml:"enableServiceLinks"`
	Grace           int   `yaml:"terminationGracePeriodSeconds"`
	SecurityContext struct {
		NonRoot        bool   `yaml:"runAsNonRoot"`
		User           int    `yaml:"runAsUser"`
		Group          int    `yaml:"runAsGroup"`
		FSGroup        int    `yaml:"fsGroup"`
		FSGroupPolicy  string `yaml:"fsGroupChangePolicy"`
		SeccompProfile struct {
			Type string `yaml:"type"`
		} `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Spread []struct {
		MaxSkew     int      `yaml:"maxSkew"`
		TopologyKey string   `yaml:"topologyKey"`
		When        string   `yaml:"whenUnsatisfiable"`
		Selector    selector `yaml:"labelSelector"`
	} `yaml:"topologySpreadConstraints"`
	Containers []container `yaml:"containers"`
	Volumes    []struct {
		Name      string `yaml:"name"`
		ConfigMap struct {
			Name string `yaml:"name"`
		} `yaml:"configMap"`
	} `yaml:"volumes"`
}

type statefulSet struct {
	Head `yaml:",inline"`
	Spec struct {
		ServiceName string   `yaml:"serviceName"`
		Replicas    int      `yaml:"replicas"`
		Management  string   `yaml:"podManagementPolicy"`
		Selector    selector `yaml:"selector"`
		Template    struct {
			Metadata metadata `yaml:"metadata"`
			Spec     podSpec  `yaml:"spec"`
		} `yaml:"template"`
		Claims []struct {
			Metadata metadata `yaml:"metadata"`
			Spec     struct {
				AccessModes []string `yaml:"accessModes"`
				Resources   struct {
					Requests labels `yaml:"requests"`
				} `yaml:"resources"`
			} `yaml:"spec"`
		} `yaml:"volumeClaimTemplates"`
	} `yaml:"spec"`
}

// cluster is everything of the example.
type cluster struct {
	config   configMap
	set      statefulSet
	services map[string]kubeService
	budget   budget
}

func readCluster(t *testing.T) (c cluster) {
	t.Helper()
	file, err := os.ReadFile("kubernetes/einmal.yaml")
	must(t, err)
	c.services = map[string]kubeService{}
	for _, doc := range bytes.Split(file, []byte("\n---\n")) {
		var h Head
		must(t, yaml.Unmarshal(doc, &h))
		var s kubeService
		into := map[string]any{"v1 ConfigMap": &c.config, "apps/v1 StatefulSet": &c.set, "v1 Service": &s, "policy/v1 PodDisruptionBudget": &c.budget}[h.APIVersion+" "+h.Kind]
		if into == nil {
			t.Fatalf("nobody reads a %s %s", h.APIVersion, h.Kind)
		}
		if err := yaml.UnmarshalWithOptions(doc, into, yaml.Strict()); err != nil {
			t.Fatalf("%s: %s", h.Kind, yaml.FormatError(err, false, true))
		}
		if h.Kind == "Service" {
			c.services[h.Metadata.Name] = s
		}
	}
	return c
}

// What refers to another is about what there is: labels, ports, volumes and the secret of the page.
func TestKubernetesNames(t *testing.T) {
	c := readCluster(t)
	pod := c.set.Spec.Template
	if len(c.services) != 2 || c.services[c.set.Spec.ServiceName].Spec.ClusterIP != "None" || !c.services[c.set.Spec.ServiceName].Spec.NotReady {
		t.Errorf("%+v", c.services)
	}
	for name, s := range c.services {
		if s.Spec.Selector["app"] != pod.Metadata.Labels["app"] || s.Spec.Ports[0].TargetPort != pod.Spec.Containers[0].Ports[0].Name {
			t.Errorf("the service %s leads nowhere: %+v", name, s.Spec)
		}
	}
	for what, s := range map[string]selector{"set": c.set.Spec.Selector, "budget": c.budget.Spec.Selector, "spread": pod.Spec.Spread[0].Selector} {
		if len(s.MatchLabels) != 1 || s.MatchLabels["app"] != pod.Metadata.Labels["app"] {
			t.Errorf("the %s is of other pods: %v", what, s)
		}
	}
	if c.budget.Spec.MinAvailable < 1 || c.budget.Spec.MinAvailable >= c.set.Spec.Replicas {
		t.Errorf("%d of %d pods are kept: none may ever be moved, or all at once", c.budget.Spec.MinAvailable, c.set.Spec.Replicas)
	}
	volumes := map[string]bool{c.set.Spec.Claims[0].Metadata.Name: true, pod.Spec.Volumes[0].Name: pod.Spec.Volumes[0].ConfigMap.Name == c.config.Metadata.Name}
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("the volume %s is not there", m.Name)
		}
	}
	page, err := os.ReadFile("README.md")
	must(t, err)
	for _, e := range pod.Spec.Containers[0].Env {
		if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" && !strings.Contains(string(page), "--from-literal="+ref.Key+"=") {
			t.Errorf("the page makes no %s in the secret", ref.Key)
		}
	}
}

// The file and the variables are a configuration, whose state is on the volume and whose address is the probes'.
//
// covers: X7
func TestKubernetesConfiguration(t *testing.T) {
	c := readCluster(t)
	gateway := c.set.Spec.Template.Spec.Containers[0]
	file := filepath.Join(t.TempDir(), "einmal.yaml")
	must(t, os.WriteFile(file, []byte(c.config.Data["einmal.yaml"]), 0o600))
	var environ []string
	for _, e := range gateway.Env {
		value := e.Value
		switch e.ValueFrom.SecretKeyRef.Key {
		case "store-url":
			value = "postgres://einmal:word@postgres/einmal"
		case "identity-key", "sealing-key":
			value = strings.Repeat("ab", 32)
		case "carrier-a-id", "carrier-a-password":
			value = "word"
		}
		if e.Name == "EINMAL_CONFIG" && value != "/etc/einmal/einmal.yaml" {
			t.Errorf("the file is %s", value)
		}
		environ = append(environ, e.Name+"="+value)
	}
	l := loads(t, file, environ)
	if _, err := l.KeySource().Open(); err != nil {
		t.Error(err)
	}
	if l.Store != "postgres://einmal:word@postgres/einmal" || !strings.HasPrefix(l.Data, gateway.VolumeMounts[0].MountPath+"/") || !strings.HasSuffix(l.Listen.HTTP, ":8080") || gateway.Ports[0].ContainerPort != 8080 {
		t.Errorf("%+v", l.Config)
	}
	for path, p := range map[string]probe{"/healthz": gateway.LivenessProbe, "/readyz": gateway.ReadinessProbe} {
		if p.HTTPGet.Path != path || p.HTTPGet.Port != gateway.Ports[0].Name || p.Period == 0 {
			t.Errorf("%+v", p)
		}
	}
	if p := gateway.StartupProbe; p.HTTPGet.Path != "/healthz" || p.Period*p.Threshold < 120 {
		t.Errorf("a migration is given %d s: %+v", p.Period*p.Threshold, p)
	}
}

// The pod has no rights that it does not need, and the time that an orderly stop takes.
func TestKubernetesRights(t *testing.T) {
	c := readCluster(t)
	pod := c.set.Spec.Template.Spec
	gateway, s := pod.Containers[0], pod.SecurityContext
	if !s.NonRoot || s.User != 65532 || s.Group != 65532 || s.FSGroup != 65532 || s.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("%+v", s)
	}
	if g := gateway.SecurityContext; g.Escalation == nil || *g.Escalation || !g.ReadOnly || len(g.Capabilities.Drop) != 1 || g.Capabilities.Drop[0] != "ALL" {
		t.Errorf("%+v", g)
	}
	if pod.Token == nil || *pod.Token || pod.ServiceLinks == nil || *pod.ServiceLinks || pod.Grace <= 25 || gateway.Resources.Limits["memory"] == "" || gateway.Resources.Requests["cpu"] == "" {
		t.Errorf("%+v", pod)
	}
}
