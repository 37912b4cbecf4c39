package modelconfig

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/llm"
)

// The variables that configure a model.
const (
	modelVariable   = "GAUZE_MODEL"
	urlVariable     = "GAUZE_MODEL_URL"
	keyVariable     = "GAUZE_MODEL_KEY"
	timeoutVariable = "GAUZE_MODEL_TIMEOUT"
)

const byDefault = "default"

// provider is what is known about a provider.
type provider struct {
	url  string   // its own base URL
	keys []string // its own variables
}

var providers = map[string]provider{
	openAI:    {llm.OpenAIURL, []string{"OPENAI_API_KEY"}},
	anthropic: {llm.AnthropicURL, []string{"ANTHROPIC_API_KEY"}},
	gemini:    {llm.GeminiURL, []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
	sampling:  {},
}

// Load returns the configuration. name is the value of --model, which overrides the environment and
// the file; empty: not set. ok is false if no model is configured.
func Load(name string) (c Config, ok bool, err error) { return LoadNamed(name, "--model") }

// LoadNamed is like Load for a name that comes from elsewhere, such as a policy. source is what
// errors call it.
func LoadNamed(name, source string) (c Config, ok bool, err error) {
	file, err := readFile(Path())
	if err != nil {
		return c, false, err
	}
	env := place{name: "environment", model: os.Getenv(modelVariable), modelSource: modelVariable,
		url: os.Getenv(urlVariable), urlSource: urlVariable, timeout: os.Getenv(timeoutVariable), timeoutSource: timeoutVariable}
	chosen := place{model: name, modelSource: source}
	for _, p := range []place{env, file.place()} {
		if chosen.model == "" {
			chosen.model, chosen.modelSource = p.model, p.modelSource
		}
	}
	if chosen.model == "" {
		return c, false, nil
	}
	if c.Provider, c.Name, err = parseModel(chosen.model, chosen.modelSource); err != nil {
		return c, false, err
	}
	c.sources.model = chosen.modelSource
	for _, step := range []func() error{
		func() error { return c.setTimeout(env, file.place()) },
		func() error { return c.setBudget(file) },
		func() error { return c.setURLAndKey(env, file) },
	} {
		if err := step(); err != nil {
			return c, false, err
		}
	}
	return c, true, nil
}

// place is one place where settings are. Its empty fields are not set.
type place struct {
	name                   string
	model, modelSource     string
	url, urlSource         string
	timeout, timeoutSource string
}

// serves reports whether the URL and the key of a place are for a provider: the place says so, or
// does not say for which.
func (p place) serves(provider string) bool {
	own, _, _ := strings.Cut(p.model, ":")
	return p.model == "" || own == provider
}

// parseModel splits PROVIDER:NAME.
func parseModel(text, source string) (provider, name string, err error) {
	provider, name, _ = strings.Cut(text, ":")
	_, known := providers[provider]
	plain := !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f })
	isName := plain && len(name) <= 200 && (name == "") == (provider == sampling)
	if !known || !isName {
		hint := ""
		if !known && name != "" && plain {
			hint = fmt.Sprintf("; for other servers with an OpenAI-compatible API, such as Ollama, use openai:NAME and set %s", urlVariable)
		}
		return "", "", fmt.Errorf("invalid %s %q: must be openai:NAME, anthropic:NAME, gemini:NAME or sampling%s", source, redact.Quote(text), hint)
	}
	return provider, name, nil
}

func (c *Config) setTimeout(places ...place) error {
	c.Timeout, c.sources.timeout = llm.DefaultTimeout, byDefault
	for _, p := range places {
		if p.timeout == "" {
			continue
		}
		timeout, err := time.ParseDuration(p.timeout)
		if err != nil || timeout < time.Second || timeout > time.Hour {
			return fmt.Errorf("invalid %s %q: must be a duration between 1s and 1h, such as 45s", p.timeoutSource, redact.Quote(p.timeout))
		}
		c.Timeout, c.sources.timeout = timeout, p.timeoutSource
		return nil
	}
	return nil
}

func (c *Config) setBudget(f file) error {
	c.PerMinute, c.MaxInput, c.sources.budget = DefaultPerMinute, DefaultMaxInput, byDefault
	if f.PerMinute != nil {
		c.PerMinute, c.sources.budget = *f.PerMinute, f.path
	}
	if f.MaxInput != nil {
		c.MaxInput, c.sources.budget = *f.MaxInput, f.path
	}
	if f.Prices != nil && f.Model == c.String() {
		c.Prices, c.sources.prices = llm.Prices{Input: f.Prices.Input, Output: f.Prices.Output}, f.path
	}
	return nil
}

// setURLAndKey sets the base URL, and the key that may be sent to it.
func (c *Config) setURLAndKey(env place, f file) error {
	if c.Sampling() {
		return nil
	}
	c.URL, c.sources.url = providers[c.Provider].url, byDefault
	from := ""
	for _, p := range []place{f.place(), env} { // the last one wins
		if p.url != "" && p.serves(c.Provider) {
			c.URL, c.sources.url, from = strings.TrimRight(p.url, "/"), p.urlSource, p.name
		}
	}
	at, err := url.Parse(c.URL)
	isHTTP := err == nil && (at.Scheme == "http" || at.Scheme == "https")
	switch {
	case !isHTTP || at.Host == "" || at.RawQuery+at.Fragment != "":
		return fmt.Errorf("invalid %s %q: must be a base URL such as http://127.0.0.1:11434/v1", c.sources.url, redact.Quote(redact.MaskAddress(c.URL)))
	case at.User != nil:
		return fmt.Errorf("invalid %s: it contains a user name or password; set %s instead", c.sources.url, keyVariable)
	}
	return c.setKey(c.candidates(env, f), at, cmp.Or(from, byDefault))
}
