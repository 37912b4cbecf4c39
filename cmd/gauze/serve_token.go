package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// chosenTokens returns the tokens that the flags name. Clients must send one of
// them.
func (f *serveFlags) chosenTokens() ([]string, error) {
	switch {
	case f.noToken && (f.tokenFile != "" || f.tokenEnv != ""):
		return nil, errors.New("--no-token cannot be combined with --token-file or --token-env")
	case f.tokenFile != "" && f.tokenEnv != "":
		return nil, errors.New("--token-file cannot be combined with --token-env")
	case f.tokenEnv != "":
		token := strings.TrimSpace(os.Getenv(f.tokenEnv))
		if token == "" {
			return nil, fmt.Errorf("invalid --token-env: the environment variable %s is not set", f.tokenEnv)
		}
		return []string{token}, checkToken(token, "the token in "+f.tokenEnv)
	case f.tokenFile != "":
		return readTokens(f.tokenFile)
	}
	return nil, nil
}

// keptOrChosen returns the tokens with which gauze up would start now. None is created.
func (f *serveFlags) keptOrChosen() ([]string, error) {
	chosen, err := f.chosenTokens()
	if len(chosen) > 0 || err != nil || f.noToken {
		return chosen, err
	}
	dir, err := backup.StateDir()
	if err != nil {
		return nil, err
	}
	kept, _ := readTokens(filepath.Join(dir, serveTokenFile)) // gauze up says what is wrong with it
	return kept, nil
}

// serveTokenFile is where the tokens of gauze serve and gauze up are kept.
const serveTokenFile = "serve-token"

// readTokens reads a file with one token per line.
func readTokens(path string) (tokens []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the token file: %w", err)
	}
	defer file.Close()
	if err := checkMode(file, "token"); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		token := strings.TrimSpace(lines.Text())
		if token == "" {
			continue
		}
		if err := checkToken(token, fmt.Sprintf("the token in %s, line %d,", path, number)); err != nil {
			return nil, err
		}
		tokens = append(tokens, token)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cannot read the token file: %w", err)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("no token in %s: the file must contain one token per line, each with at least 20 random characters", path)
	}
	return tokens, nil
}

// checkMode rejects a file with a secret, such as "token", that other users can read, except on
// Windows, which has no mode bits.
func checkMode(file *os.File, secret string) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("cannot read the %s file: %w", secret, err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return fmt.Errorf("other users can access the %s file %s (mode %04o); make it private with\n\n  chmod 600 %s\n\n"+
			"and replace the %s if others may have read it", secret, file.Name(), mode, file.Name(), secret)
	}
	return nil
}

// checkToken rejects a token that can be guessed. It never shows the token.
func checkToken(token, what string) error {
	if strings.ContainsAny(token, " \t") {
		return fmt.Errorf("%s contains spaces", what)
	}
	if httpguard.Guessable(token) {
		return fmt.Errorf("%s is too easy to guess: it must have at least 20 random characters. Create one with\n\n  openssl rand -hex 32\n\n"+
			"or omit --token-env and --token-file to let gauze create one", what)
	}
	return nil
}

// ownTokens are the tokens in the state directory of gauze: one, unless the user added more.
type ownTokens struct {
	all  []string
	file string
	new  bool // gauze created the file just now
}

// serveTokens returns the tokens of gauze serve in the state directory.
func serveTokens() (ownTokens, error) {
	t, err := keptTokens(serveTokenFile)
	if err != nil {
		return t, fmt.Errorf("%w; to provide a token yourself, use --token-env or --token-file", err)
	}
	return t, nil
}

// keptTokens reads the tokens in a file of the state directory, after creating one if there is none.
func keptTokens(name string) (t ownTokens, err error) {
	dir, err := backup.StateDir()
	if err != nil {
		return t, err
	}
	t.file = filepath.Join(dir, name)
	if t.all, err = readTokens(t.file); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	err = createToken(t.file)
	if t.new = err == nil; err != nil && !errors.Is(err, fs.ErrExist) {
		return t, fmt.Errorf("cannot create a token: %w", err)
	}
	t.all, err = readTokens(t.file)
	return t, err
}

// createToken writes a random token to path, unless there is one already.
func createToken(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var random [32]byte
	rand.Read(random[:]) // never fails
	return files.Create(path, []byte(hex.EncodeToString(random[:])+"\n"))
}

// announce shows how clients authenticate. It shows a new token once, on stdout, as an entry to
// paste into a client's configuration.
func (t ownTokens) announce(stdout, stderr io.Writer, name, url string) {
	if !t.new {
		fmt.Fprintf(stderr, "gauze: clients must send the token in %s as Authorization: Bearer TOKEN\n", t.file)
		return
	}
	fmt.Fprintf(stderr, "gauze: created a token for clients in %s; it will not be shown again. Add this entry to a client's configuration:\n", t.file)
	type entry struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	if name == "" {
		name = "gauze"
	}
	out := json.NewEncoder(stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	out.Encode(map[string]map[string]entry{"mcpServers": {name: {
		Type: "http", URL: url, Headers: map[string]string{"Authorization": "Bearer " + t.all[0]},
	}}})
}
