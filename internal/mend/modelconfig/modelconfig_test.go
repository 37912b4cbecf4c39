package modelconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
	"github.com/gauze-mcp/gauze/llm"
)

const canary = "sk-canary-5f2b9c71d8e64a03"

// world sets the environment and the content of model.yaml.
func world(t *testing.T, env map[string]string, file string) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, home)
	}
	for _, name := range []string{modelVariable, urlVariable, keyVariable, timeoutVariable, "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(name, env[name])
	}
	if file == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(Path()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(Path(), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
}

type env = map[string]string

func TestNothingIsConfigured(t *testing.T) {
	for _, file := range []string{"", "# nothing\n", "timeout: 5s\n"} {
		world(t, env{urlVariable: "http://127.0.0.1/v1", "OPENAI_API_KEY": canary}, file)
		if c, ok, err := Load(""); ok || err != nil {
			t.Errorf("got %v, %v, %v", c, ok, err)
		}
	}
}

func TestWhereSettingsComeFrom(t *testing.T) {
	const openaiFile = "model: openai:f\nurl: https://file.example/v1\nkey: " + canary + "-file\ntimeout: 7s\nper_minute: 5\nmax_input: 4096\nprices: {input: 1.5, output: 2}\n"
	for name, tc := range map[string]struct {
		flag string
		env  env
		file string
		want Config // without sources
	}{
		"environment": {"", env{modelVariable: "openai:m", "OPENAI_API_KEY": "k"}, "",
			Config{Name: "m", URL: llm.OpenAIURL, key: "k", sources: sources{modelVariable, byDefault, "OPENAI_API_KEY", byDefault, byDefault, ""}}},
		"flag": {"gemini:g", env{modelVariable: "openai:m", urlVariable: "http://127.0.0.1/v1", keyVariable: "k", "GOOGLE_API_KEY": "g"}, "",
			Config{Name: "g", URL: llm.GeminiURL, key: "g", sources: sources{"--model", byDefault, "GOOGLE_API_KEY", byDefault, byDefault, ""}}},
		"flag of the same provider": {"openai:n", env{modelVariable: "openai:m", urlVariable: "http://127.0.0.1/v1/", keyVariable: "k"}, "",
			Config{Name: "n", URL: "http://127.0.0.1/v1", key: "k", sources: sources{"--model", urlVariable, keyVariable, byDefault, byDefault, ""}}},
		"key for gauze before the provider's own": {"", env{modelVariable: "anthropic:a", "ANTHROPIC_API_KEY": "own", keyVariable: "k"}, "",
			Config{Name: "a", URL: llm.AnthropicURL, key: "k", sources: sources{modelVariable, byDefault, keyVariable, byDefault, byDefault, ""}}},
		"file": {"", env{}, openaiFile,
			Config{Name: "f", URL: "https://file.example/v1", key: canary + "-file", sources: sources{"model in FILE", "url in FILE", "FILE", "timeout in FILE", "FILE", "FILE"}}},
		"environment before the file": {"", env{modelVariable: "openai:m", urlVariable: "https://env.example/v1", keyVariable: "k", timeoutVariable: "9s"}, openaiFile,
			Config{Name: "m", URL: "https://env.example/v1", key: "k", sources: sources{modelVariable, urlVariable, keyVariable, timeoutVariable, "FILE", ""}}},
		"file of a different provider": {"", env{modelVariable: "anthropic:a", "ANTHROPIC_API_KEY": "own"}, openaiFile,
			Config{Name: "a", URL: llm.AnthropicURL, key: "own", sources: sources{modelVariable, byDefault, "ANTHROPIC_API_KEY", "timeout in FILE", "FILE", ""}}},
		"sampling": {"", env{modelVariable: "sampling", urlVariable: "nonsense"}, "", Config{sources: sources{model: modelVariable, timeout: byDefault, budget: byDefault}}},
	} {
		t.Run(name, func(t *testing.T) {
			world(t, tc.env, tc.file)
			c, ok, err := Load(tc.flag)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			got := fmt.Sprint(c.Name, " ", c.URL, " ", string(c.key), " ", c.sources)
			want := strings.ReplaceAll(fmt.Sprint(tc.want.Name, " ", tc.want.URL, " ", string(tc.want.key), " ", tc.want.sources), "FILE", Path())
			if got != want {
				t.Errorf("\ngot  %s\nwant %s", got, want)
			}
			if c.Sampling() != (c.Provider == "sampling") {
				t.Error("Sampling is wrong")
			}
		})
	}
}

func TestValuesOfTheFile(t *testing.T) {
	world(t, env{}, "model: openai:f\nurl: http://127.0.0.1:1/v1\ntimeout: 7s\nper_minute: 5\nmax_input: 4096\nprices: {input: 1.5, output: 2}\n")
	c, _, err := Load("")
	if err != nil || c.Timeout != 7*time.Second || c.PerMinute != 5 || c.MaxInput != 4096 || c.Prices != (llm.Prices{Input: 1.5, Output: 2}) {
		t.Errorf("got %v, %v, %v, %v, %v", c.Timeout, c.PerMinute, c.MaxInput, c.Prices, err)
	}
}

// A key goes to its provider's own host, or to a URL from the same place.
func TestWhichKeyGoesWhere(t *testing.T) {
	for name, tc := range map[string]struct {
		env  env
		file string
		key  string // its source; FILE is model.yaml
	}{
		"own key, URL from the environment":           {env{modelVariable: "openai:m", urlVariable: "https://proxy.example/v1", "OPENAI_API_KEY": canary}, "", "OPENAI_API_KEY"},
		"own key, URL from the file":                  {env{"OPENAI_API_KEY": canary}, "model: openai:m\nurl: https://proxy.example/v1\n", ""},
		"own key, own host in the file":               {env{"OPENAI_API_KEY": canary}, "model: openai:m\nurl: https://api.openai.com/v1/\n", "OPENAI_API_KEY"},
		"own key, a name that begins like its host":   {env{"OPENAI_API_KEY": canary}, "model: openai:m\nurl: https://api.openai.com.example/v1\n", ""},
		"own key, own host without encryption":        {env{"OPENAI_API_KEY": canary}, "model: openai:m\nurl: http://api.openai.com/v1\n", ""},
		"own key, own host, other port":               {env{"OPENAI_API_KEY": canary}, "model: openai:m\nurl: https://api.openai.com:444/v1\n", ""},
		"own key, this machine":                       {env{modelVariable: "openai:m", urlVariable: "http://localhost:11434/v1", "OPENAI_API_KEY": canary}, "", ""},
		"own key, this machine as LOCALHOST":          {env{modelVariable: "openai:m", urlVariable: "http://LOCALHOST:11434/v1", "OPENAI_API_KEY": canary}, "", ""},
		"own key, this machine as localhost.":         {env{modelVariable: "openai:m", urlVariable: "http://localhost.:11434/v1", "OPENAI_API_KEY": canary}, "", ""},
		"own key, this machine as model.localhost":    {env{modelVariable: "openai:m", urlVariable: "http://model.localhost:11434/v1", "OPENAI_API_KEY": canary}, "", ""},
		"own key, this machine as 0.0.0.0":            {env{modelVariable: "openai:m", urlVariable: "http://0.0.0.0:11434/v1", "OPENAI_API_KEY": canary}, "", ""},
		"own key, this machine as [::ffff:127.0.0.1]": {env{modelVariable: "openai:m", urlVariable: "http://[::ffff:127.0.0.1]:11434/v1", "OPENAI_API_KEY": canary}, "", ""},
		"key for gauze, this machine":                 {env{modelVariable: "openai:m", urlVariable: "http://127.0.0.1:11434/v1", keyVariable: canary}, "", keyVariable},
		"key for gauze, URL from the file":            {env{keyVariable: canary}, "model: openai:m\nurl: https://proxy.example/v1\n", keyVariable},
		"key of the file, URL from the environment":   {env{urlVariable: "https://proxy.example/v1"}, "model: openai:m\nkey: " + canary + "\n", ""},
		"key and URL of the file":                     {env{}, "model: openai:m\nurl: https://proxy.example/v1\nkey: " + canary + "\n", "FILE"},
		"key of a different provider":                 {env{modelVariable: "openai:m", urlVariable: "https://proxy.example/v1", "ANTHROPIC_API_KEY": canary}, "", ""},
		"key of the file for a different provider":    {env{modelVariable: "gemini:m", urlVariable: "https://proxy.example/v1"}, "model: openai:m\nkey: " + canary + "\n", ""},
		"private network without encryption":          {env{modelVariable: "openai:m", urlVariable: "http://192.168.1.9:8000/v1", keyVariable: canary}, "", keyVariable},
		"private network, key for gauze, other place": {env{keyVariable: canary}, "model: openai:m\nurl: http://10.0.0.9/v1\n", keyVariable},
	} {
		t.Run(name, func(t *testing.T) {
			world(t, tc.env, tc.file)
			c, ok, err := Load("")
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			if want := strings.ReplaceAll(tc.key, "FILE", Path()); tc.key != "" && (c.sources.key != want || c.key != canary) || tc.key == "" && c.key != "" {
				t.Errorf("the key comes from %q, want %q", c.sources.key, want)
			}
			if len(c.Warnings) > 0 {
				t.Errorf("got %v", c.Warnings)
			}
			described, err := json.Marshal(c.Describe())
			if err != nil {
				t.Fatal(err)
			}
			whole, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			for _, shown := range []string{c.String(), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%+v %#v", &c, struct{ C Config }{c}), string(described), string(whole)} {
				if strings.Contains(shown, canary) {
					t.Errorf("the key is shown: %s", shown)
				}
			}
		})
	}
}

func TestAKeyWithoutEncryption(t *testing.T) {
	world(t, env{modelVariable: "openai:m", urlVariable: "http://models.example/v1", keyVariable: canary}, "")
	if c, _, err := Load(""); err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "without encryption") || strings.Contains(c.Warnings[0], canary) {
		t.Errorf("got %v, %v", c.Warnings, err)
	}
	world(t, env{keyVariable: canary}, "model: openai:m\nurl: http://models.example/v1\n")
	if _, _, err := Load(""); err == nil || !strings.Contains(err.Error(), "without encryption; use https://") {
		t.Errorf("got %v", err)
	}
}

func TestInvalidSettings(t *testing.T) {
	for want, tc := range map[string]struct {
		flag string
		env  env
		file string
	}{
		`invalid GAUZE_MODEL "foo": must be openai:NAME, anthropic:NAME, gemini:NAME or sampling`: {"", env{modelVariable: "foo"}, ""},
		`invalid --model "openai:": must be`:                                                      {"openai:", nil, ""},
		`invalid --model "sampling:x": must be`:                                                   {"sampling:x", nil, ""},
		`invalid --model "mistral:x": must be`:                                                    {"mistral:x", nil, ""},
		`invalid --model "openai:a b": must be`:                                                   {"openai:a b", nil, ""},
		`invalid model in FILE "bar": must be`:                                                    {"", nil, "model: bar\n"},
		`invalid GAUZE_MODEL_TIMEOUT "soon": must be a dura`:                                      {"openai:m", env{timeoutVariable: "soon"}, ""},
		`invalid timeout in FILE "0s": must be a duration`:                                        {"openai:m", nil, "timeout: 0s\n"},
		`invalid GAUZE_MODEL_URL "127.0.0.1:1": must be`:                                          {"openai:m", env{urlVariable: "127.0.0.1:1"}, ""},
		`invalid GAUZE_MODEL_URL: it contains a user name or pa`:                                  {"openai:m", env{urlVariable: "https://u:" + canary + "@x.example"}, ""},
		`invalid GAUZE_MODEL_URL "https://x.example`:                                              {"openai:m", env{urlVariable: "https://x.example?key=" + canary}, ""},
		`no key for openai:m: set OPENAI_API_KEY or GAUZE_`:                                       {"openai:m", nil, ""},
		`no key for gemini:m: set GEMINI_API_KEY or GAUZE_`:                                       {"gemini:m", nil, ""},
		`invalid FILE, line 2, column 1: unknown field "ke"`:                                      {"", nil, "model: openai:m\nke: " + canary + "\n"},
		`invalid FILE, line 3, column 3: unknown field "in"`:                                      {"", nil, "model: openai:m\nprices:\n  in: 3\n"},
		`invalid FILE, line 2, column 1: `:                                                        {"", nil, "model: openai:m\nmodel: openai:n\n"},
		`invalid FILE, line 2, column 6: `:                                                        {"", nil, "model: openai:m\nkey: [" + canary + "]\n"},
		`invalid FILE, line 1, column `:                                                           {"", nil, "key: \"" + canary + "\n"},
		`invalid per_minute 0 in FILE: must be between`:                                           {"", nil, "per_minute: 0\n"},
		`invalid max_input 1 in FILE: must be between`:                                            {"", nil, "max_input: 1\n"},
		`invalid prices in FILE: must not be negative`:                                            {"", nil, "prices: {input: -1}\n"},
	} {
		world(t, tc.env, tc.file)
		c, ok, err := Load(tc.flag)
		if err == nil || ok || !strings.HasPrefix(err.Error(), strings.ReplaceAll(want, "FILE", Path())) {
			t.Errorf("%s: got %v, %v", want, c, err)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("the key is shown: %v", err)
		}
	}
}

func TestAnUnknownProviderGetsAHint(t *testing.T) {
	world(t, env{modelVariable: "ollama:qwen2.5-coder"}, "")
	_, _, err := Load("")
	if err == nil || !strings.HasSuffix(err.Error(), "such as Ollama, use openai:NAME and set GAUZE_MODEL_URL") {
		t.Errorf("got %v", err)
	}
}

func TestWhereANewKeyBelongs(t *testing.T) {
	for _, tc := range []struct {
		env      env
		variable string
		official bool
	}{
		{env{modelVariable: "openai:m", "OPENAI_API_KEY": canary}, "OPENAI_API_KEY", true},
		{env{modelVariable: "gemini:m", "GOOGLE_API_KEY": canary}, "GOOGLE_API_KEY", true},
		{env{modelVariable: "openai:m", keyVariable: canary}, keyVariable, true},
		{env{modelVariable: "openai:m", urlVariable: "http://127.0.0.1:1/v1"}, keyVariable, false},
	} {
		world(t, tc.env, "")
		c, ok, err := Load("")
		if err != nil || !ok || c.KeyVariable() != tc.variable || c.Official() != tc.official {
			t.Errorf("%v: got %s, %v, %v", tc.env[modelVariable], c.KeyVariable(), c.Official(), err)
		}
	}
}

func TestAFileThatOthersCanReadMayNotContainAKey(t *testing.T) {
	for file, refused := range map[string]bool{
		"model: openai:m\nkey: " + canary + "\n":            runtime.GOOS != "windows",
		"model: openai:m\nurl: http://127.0.0.1:11434/v1\n": false,
	} {
		world(t, env{}, file)
		if err := os.Chmod(Path(), 0o644); err != nil {
			t.Fatal(err)
		}
		_, ok, err := Load("")
		if ok == refused || refused && !strings.HasSuffix(err.Error(), "\n\n    chmod 600 "+Path()) {
			t.Errorf("%v, %v", ok, err)
		}
	}
}

func TestNothingFromTheWorkingDirectoryDecides(t *testing.T) {
	world(t, env{}, "")
	dir := t.TempDir()
	for _, name := range []string{"model.yaml", "gauze/model.yaml", ".gauze/model.yaml", ".config/gauze/model.yaml"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("model: openai:evil\nurl: http://127.0.0.1:1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	if c, ok, err := Load(""); ok || err != nil {
		t.Errorf("got %v, %v", c, err)
	}
	t.Setenv("XDG_CONFIG_HOME", ".config")
	if c, ok, err := Load(""); ok || err != nil {
		t.Errorf("with a relative directory: got %v, %v", c, err)
	}
}

var question = llm.Question{Name: "sum", Schema: json.RawMessage(`{"type":"object"}`)}

func TestOpenAsksWithinTheBudget(t *testing.T) {
	s := modeltest.Anthropic(t, modeltest.Says(`{}`))
	world(t, env{keyVariable: canary}, "model: anthropic:a\nurl: "+s.URL+"\nper_minute: 1\nprices: {input: 10000, output: 0}\n")
	c, _, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	model, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := model.Ask(t.Context(), question); err != nil || answer.Usage.Cost != 1 {
		t.Errorf("got %+v, %v", answer, err)
	}
	if _, err := model.Ask(t.Context(), question); llm.KindOf(err) != llm.OverBudget {
		t.Errorf("got %v", err)
	}
	if got := s.Requests(); len(got) != 1 || got[0].Header.Get("X-Api-Key") != canary {
		t.Errorf("got %v", got)
	}
}

func TestSamplingNeedsAClient(t *testing.T) {
	world(t, env{modelVariable: "sampling", timeoutVariable: "1s"}, "")
	c, ok, err := Load("")
	if !ok || err != nil || !c.Sampling() {
		t.Fatal(c, err)
	}
	if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), "requires a connected MCP client") {
		t.Errorf("got %v", err)
	}
	model := c.OpenSampling(func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the question has no timeout")
		}
		return json.RawMessage(`{"content":{"type":"text","text":"{}"}}`), nil
	})
	if answer, err := model.Ask(t.Context(), question); err != nil || string(answer.JSON) != "{}" {
		t.Errorf("got %+v, %v", answer, err)
	}
}
