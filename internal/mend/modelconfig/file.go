package modelconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
)

// maxFile is the maximum size of model.yaml in bytes.
const maxFile = 64 << 10

// file is the content of model.yaml. An example:
//
//	model: openai:qwen2.5-coder
//	url: http://127.0.0.1:11434/v1
//	timeout: 60s
//	per_minute: 30
//	prices: {input: 0.15, output: 0.60}
type file struct {
	Model     string `yaml:"model"`
	URL       string `yaml:"url"`
	Key       string `yaml:"key"`
	Timeout   string `yaml:"timeout"`
	PerMinute *int   `yaml:"per_minute"`
	MaxInput  *int   `yaml:"max_input"`
	Prices    *struct {
		Input  float64 `yaml:"input"`
		Output float64 `yaml:"output"`
	} `yaml:"prices"`

	path string
}

// Path returns where model.yaml is, or "" if the user has no configuration directory.
func Path() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "gauze", "model.yaml")
}

func (f file) place() place {
	return place{name: "file", model: f.Model, modelSource: "model in " + f.path, url: f.URL, urlSource: "url in " + f.path,
		timeout: f.Timeout, timeoutSource: "timeout in " + f.path}
}

// readFile reads model.yaml. A file that does not exist is empty.
func readFile(path string) (file, error) {
	f := file{path: path}
	if path == "" {
		return f, nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err == nil && !info.Mode().IsRegular(): // opening a FIFO could block
		return f, fmt.Errorf("invalid %s: must be a file", path)
	}
	opened, err := os.Open(path)
	if err != nil {
		return f, fmt.Errorf("cannot read the model configuration: %w", err)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	switch {
	case err != nil:
		return f, fmt.Errorf("cannot read the model configuration: %w", err)
	case len(text) > maxFile:
		return f, fmt.Errorf("invalid %s: must be at most %d bytes", path, maxFile)
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithKnownFields())
	if err == nil {
		err = loader.Load(&f)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return f, located(path, err)
	}
	return f, f.check(opened)
}

// located returns an error with its line and column. It does not quote the file, which may contain
// a key.
func located(path string, err error) error {
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		return fmt.Errorf("invalid %s: expected a YAML file of model settings", path)
	}
	mark, message := at.Mark, at.Message
	if at.ContextMsg != "" {
		mark = at.ContextMark
	}
	if field, _, unknown := strings.Cut(strings.TrimPrefix(message, "field "), " not found in type "); unknown {
		message = fmt.Sprintf("unknown field %q", field)
	} else if from, to := strings.IndexByte(message, '`'), strings.LastIndexByte(message, '`'); from < to {
		message = message[:from] + "..." + message[to+1:] // a value
	}
	return fmt.Errorf("invalid %s, line %d, column %d: %s", path, mark.Line, mark.Column, redact.Quote(message))
}

// check validates what needs no other setting.
func (f file) check(opened *os.File) error {
	switch {
	case f.PerMinute != nil && (*f.PerMinute < 1 || *f.PerMinute > 10_000):
		return fmt.Errorf("invalid per_minute %d in %s: must be between 1 and 10000", *f.PerMinute, f.path)
	case f.MaxInput != nil && (*f.MaxInput < 1024 || *f.MaxInput > 4<<20):
		return fmt.Errorf("invalid max_input %d in %s: must be between 1024 and %d bytes", *f.MaxInput, f.path, 4<<20)
	case f.Prices != nil && !(f.Prices.Input >= 0 && f.Prices.Output >= 0):
		return fmt.Errorf("invalid prices in %s: must not be negative", f.path)
	case f.Key == "" || runtime.GOOS == "windows": // there, the profile's directory is private
		return nil
	}
	info, err := opened.Stat()
	if err != nil {
		return fmt.Errorf("cannot read the model configuration: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s contains a key, and other users can read it. Run:\n\n    %s", f.path, shell.For("linux").Line("chmod", "600", f.path))
	}
	return nil
}
