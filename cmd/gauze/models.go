package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/modelconfig"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/llm"
)

// setModels configures the models that correct rejected calls: the one of --model, the environment
// or the file, and those that policies name. A model that the user named for this command must be
// valid. One that is configured elsewhere is reported to w if it is not: the server works without it.
func setModels(o *proxy.Options, flag string, w io.Writer) error {
	open := map[string]func(proxy.Sampler) llm.Model{}
	config, ok, err := modelconfig.Load(flag)
	if err == nil && ok {
		open[""], err = opener(config)
	}
	switch {
	case err != nil && flag != "":
		return err
	case err != nil:
		delete(open, "")
		fmt.Fprintln(w, fault.LogMark, redact.Passage("continuing without a model: "+err.Error()))
	case ok:
		o.Waits.Model = config.Timeout
		for _, warning := range config.Warnings {
			fmt.Fprintln(w, fault.LogMark, redact.Passage(warning))
		}
	}
	for tool, policy := range o.Tools {
		name := policy.Correct.Model
		if name == "" || open[name] != nil {
			continue
		}
		config, _, err := modelconfig.LoadNamed(name, "correct.model")
		if err == nil {
			open[name], err = opener(config)
		}
		if err != nil {
			return fmt.Errorf("policy for tool %q: %w", tool, err)
		}
	}
	const modelKeyVariable = "GAUZE_MODEL_KEY"
	if os.Getenv(modelKeyVariable) != "" && o.Spec.URL == "" {
		// The key is for gauze; the server has no use for it.
		o.Spec.Env = slices.DeleteFunc(o.Spec.Environment(), func(pair string) bool { return strings.HasPrefix(pair, modelKeyVariable+"=") })
	}
	if len(open) > 0 {
		o.Models = func(name string, client proxy.Sampler) llm.Model {
			if open := open[name]; open != nil {
				return open(client)
			}
			return nil
		}
	}
	return nil
}

// opener returns a function that returns the model for a session. Only the model of the client is
// different in each session.
func opener(config modelconfig.Config) (func(proxy.Sampler) llm.Model, error) {
	if config.Sampling() {
		return func(client proxy.Sampler) llm.Model {
			if client == nil {
				return nil
			}
			return config.OpenSampling(client)
		}, nil
	}
	model, err := config.Open()
	return func(proxy.Sampler) llm.Model { return model }, err
}
