package doctor_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/gauze-mcp/gauze/doctor"
)

// Test a server before it is used.
func ExampleTest() {
	server := someServer() // such as doctor.Server{Command: []string{"npx", "-y", "some-server"}}
	report, err := doctor.Test(context.Background(), server, doctor.TestOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if !report.Works {
		log.Fatalf("%s: %s", report.Diagnosis.Explanation, report.Next)
	}
	fmt.Println(report.Stage, report.Name, len(report.Tools) > 0)
	// Output: listed faultyserver true
}

// Find the cause of a failure in the log of a client.
func ExampleDiagnose() {
	d := doctor.Diagnose(`
2026-11-15T09:12:44.120Z [info] [notes] Initializing server...
2026-11-15T09:12:44.158Z [error] [notes] spawn uvx ENOENT
2026-11-15T09:12:44.161Z [info] [notes] Server transport closed
`, doctor.Server{Command: []string{"uvx", "mcp-notes"}})
	fmt.Println(d.Category)
	fmt.Println(d.Evidence[0])
	// Output:
	// command_not_found
	// 2026-11-15T09:12:44.158Z [error] [notes] spawn uvx ENOENT
}

// Test the servers of every MCP client on this machine.
func ExampleCheckHealth() {
	home, done := newUser() // an example must not test your servers
	defer done()
	cursor(home, "notes", someServer())

	health, err := doctor.CheckHealth(context.Background(), doctor.HealthOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range health.Servers {
		fmt.Println(s.ID, s.State)
	}
	// Output: cursor/notes works
}

// Repair the configuration of MCP clients. The plan is shown before it is applied.
func ExampleHeal() {
	home, done := newUser() // an example must not change your files
	defer done()
	file := cursor(home, "notes", someServer())
	misspell(file, "command", "comand")

	_, plan, err := doctor.Heal(context.Background(), doctor.HealthOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(plan.Diff()) {
		if strings.Contains(line, "comand") {
			key, _, _ := strings.Cut(line, ":")
			fmt.Println(key)
		}
	}
	if _, err := plan.Apply(); err != nil {
		log.Fatal(err)
	}
	health, err := doctor.CheckHealth(context.Background(), doctor.HealthOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(health.Servers[0].State)
	// Output:
	// -      "comand"
	// works
}

// misspell replaces a key in a file.
func misspell(file, key, wrong string) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), `"`+key+`":`, `"`+wrong+`":`, 1)), 0o600)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Add a server to a client, provided that it works.
func ExampleConfigure() {
	_, done := newUser() // an example must not change your files
	defer done()
	server := someServer()

	report, plan, err := doctor.Configure(context.Background(), doctor.NewServer{
		Name:    "notes",
		Command: server.Command,
		Env:     ownVariables(server),
		Clients: []string{"cursor"},
	})
	if err != nil {
		log.Fatal(err)
	}
	if !report.Works {
		log.Fatal(report.Diagnosis.Explanation)
	}
	changes, err := plan.Apply() // after a person has seen plan.Diff()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(changes), "file written")
	// Output: 1 file written
}

// ownVariables returns the variables of a server that the caller does not have.
func ownVariables(s doctor.Server) (env []string) {
	for _, pair := range s.Env {
		if strings.HasPrefix(pair, "GAUZE_FAULTY") {
			env = append(env, pair)
		}
	}
	return env
}
