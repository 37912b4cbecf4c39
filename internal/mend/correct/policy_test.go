package correct

import (
	"strings"
	"testing"
	"time"
)

func TestPolicyKeys(t *testing.T) {
	var p Policy
	for key, value := range map[string]string{"enabled": "false", "max-retries": "0", "USE_MODEL": "no", "model": "openai:x", "timeout": "3s", "open": "false"} {
		if err := p.Set(key, value); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if !p.Off || !p.OfferOnly || !p.NoModel || p.Model != "openai:x" || p.Timeout != 3*time.Second || !p.Closed {
		t.Errorf("%+v", p)
	}
}

func TestPolicyErrorsSayWhatIsAccepted(t *testing.T) {
	for _, tt := range []struct{ key, value, says string }{
		{"max_retries", "2", "at most once"},
		{"max_retries", "-1", "0 or 1"},
		{"enabled", "maybe", "true or false"},
		{"timeout", "5", "20s"},
		{"timeout", "-1s", "20s"},
		{"enable", "true", `did you mean "enabled"`},
		{"correctable_errors", "permission", "never correctable"},
		{"correctable_errors", "typo", "unknown kind"},
	} {
		var p Policy
		if err := p.Set(tt.key, tt.value); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s=%s: %v", tt.key, tt.value, err)
		}
	}
}

// A tool's entry overrides that of the server key by key, also with the default.
func TestPolicyOver(t *testing.T) {
	var server, tool Policy
	for _, set := range []struct {
		p          *Policy
		key, value string
	}{{&server, "enabled", "false"}, {&server, "max_retries", "0"}, {&server, "timeout", "9s"}, {&server, "correctable_errors", "wrong-type"},
		{&server, "open", "false"}, {&tool, "enabled", "true"}, {&tool, "open", "true"}} {
		if err := set.p.Set(set.key, set.value); err != nil {
			t.Fatal(err)
		}
	}
	p := tool.Over(server)
	if p.Off || !p.OfferOnly || p.Timeout != 9*time.Second || p.Closed || len(p.Correctable) != 1 {
		t.Errorf("%+v", p)
	}
	if p := (Policy{Off: true}).Over(Policy{Model: "m"}); !p.Off || p.Model != "m" {
		t.Errorf("a literal policy: %+v", p)
	}
	if p := (Policy{}).Over(p); p.Off || !p.OfferOnly || p.Closed {
		t.Errorf("three levels: %+v", p)
	}
}
