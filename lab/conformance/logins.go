package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// In the client leg, scenarios named auth/* are run with a client that does not know OAuth: `gauze run`
// logs in for it. They are not compared with direct runs, because every check must pass.

const authPrefix = "auth/"

// envDir is the directory of the run.
const envDir = "GAUZE_CONFORMANCE_DIR"

// envBrowser makes this program the browser that gauze opens.
const envBrowser = "GAUZE_CONFORMANCE_BROWSER"

// backcompat is the suite's list of scenarios with logins of protocol version 2025-03-26. It runs them
// as 2025-11-25.
const backcompat = "backcompat"

// leftOut maps scenarios that do not apply to the reason. All of them are extensions.
var leftOut = map[string]string{
	"auth/client-credentials-jwt":           "requires a private key that signs assertions; gauze reads an assertion from a file",
	"auth/dpop":                             "requires DPoP, which gauze does not support",
	"auth/dpop-nonce":                       "requires DPoP, which gauze does not support",
	"auth/enterprise-managed-authorization": "requires the exchange of a token of an identity provider, which gauze does not support",
}

// refusals are the scenarios whose server or metadata a client must reject: the call must fail.
var refusals = []string{
	"auth/iss-normalized",
	"auth/iss-supported-missing",
	"auth/iss-unexpected",
	"auth/iss-wrong-issuer",
	"auth/metadata-issuer-mismatch",
	"auth/resource-mismatch",
	"auth/scope-retry-limit",
}

// suiteClientID is the client ID metadata document that auth/basic-cimd expects.
const suiteClientID = "https://conformance-test.local/client-metadata.json"

// called is what the client prints once its call succeeded.
const called = "conformance: the call succeeded"

// callID is the check that the client's call succeeded, which is ours and not the suite's.
const callID = "call"

// login reports whether a check belongs to a scenario with a login.
func (k key) login() bool { return strings.HasPrefix(k.scenario, authPrefix) }

// runLogin runs the client against `gauze run --login auto`, as the suite's client for one scenario, and
// returns its exit status.
func runLogin(ctx context.Context, gauze, scenario, url string) int {
	if reason, out := leftOut[scenario]; out {
		fmt.Println("conformance: left out:", reason)
		return 0
	}
	leave, err := queue(ctx, scenario)
	if err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
		return 2
	}
	defer leave()
	dir, err := os.MkdirTemp("", "gauze-login-")
	if err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
		return 2
	}
	defer os.RemoveAll(dir)
	cmd, err := loginCommand(dir, gauze, scenario, url)
	if err == nil {
		err = callTool(ctx, cmd)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
		return 1
	}
	fmt.Println(called)
	return 0
}

// numQueues is how many scenarios with a login run at the same time. The suite starts all of them
// together, and on two cores three processes for each would make gauze and its client time out.
const numQueues = 4

// queue waits until no scenario before this one in its queue is running. The queues are files in the
// directory of the run.
func queue(ctx context.Context, scenario string) (leave func(), err error) {
	hash := fnv.New32()
	io.WriteString(hash, scenario)
	f, err := os.OpenFile(filepath.Join(os.Getenv(envDir), fmt.Sprintf("queue-%d", hash.Sum32()%numQueues)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for files.TryLock(f) != nil {
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return func() { f.Close() }, nil
}

// loginCommand returns the command of gauze for a scenario. The suite passes what the client knows in a
// variable.
func loginCommand(dir, gauze, scenario, url string) (*exec.Cmd, error) {
	var known struct {
		ID        string `json:"client_id"`
		Secret    string `json:"client_secret"`
		Assertion string `json:"valid_jwt"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &known); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"run", "--login", "auto", "--url", url}
	env := []string{"GAUZE_STATE_DIR=" + filepath.Join(dir, "state"), "GAUZE_KEYRING=off", "BROWSER=" + self, envBrowser + "=1"}
	switch scenario {
	case "auth/basic-cimd":
		known.ID = suiteClientID
	case "auth/client-credentials-basic":
		args = append(args, "--grant", "client-credentials")
	case "auth/wif-jwt-bearer":
		file := filepath.Join(dir, "assertion")
		if err := os.WriteFile(file, []byte(known.Assertion), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--grant", "workload-identity", "--assertion-file", file)
	}
	if known.ID != "" {
		args = append(args, "--client-id", known.ID)
	}
	if known.Secret != "" {
		args = append(args, "--client-secret-env", "CONFORMANCE_SECRET")
		env = append(env, "CONFORMANCE_SECRET="+known.Secret)
	}
	cmd := exec.Command(gauze, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// callTool is the client: it lists the tools and calls the one that each scenario has.
func callTool(ctx context.Context, cmd *exec.Cmd) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "plain-client", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		return err
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "test-tool", Arguments: map[string]any{}})
	if err != nil {
		return err
	}
	if result.IsError {
		text, _ := json.Marshal(result.Content)
		return fmt.Errorf("the tool failed: %s", text)
	}
	return nil
}

// browse opens an address as a browser does whose user agrees to everything: the suite's
// authorization servers redirect immediately.
func browse(address string) error {
	res, err := http.Get(address)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// judgeLogins records the checks of the scenarios with a login that did not pass, and the scenarios
// whose call did not end as it must.
func (r *report) judgeLogins(s sheet) {
	scenarios := map[string]bool{}
	for _, k := range slices.SortedFunc(maps.Keys(s), key.compare) {
		if _, out := leftOut[k.scenario]; out || !k.login() {
			continue
		}
		scenarios[k.scenario] = true
		for _, c := range s[k] {
			if c.Status != "SUCCESS" && c.Status != info && c.Status != "SKIPPED" {
				r.differs(k, []check{{Status: "SUCCESS"}}, []check{c})
			}
		}
	}
	r.logins = len(scenarios)
	for _, scenario := range slices.Sorted(maps.Keys(scenarios)) {
		k := key{scenario, callID, ""}
		want := []check{{Status: "SUCCESS"}}
		if slices.Contains(refusals, scenario) {
			want = nil
		}
		if verdict(s[k]) != verdict(want) {
			r.differs(k, want, s[k])
		}
	}
}
