package realparts

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Listed is a real part as documentation lists it.
type Listed struct {
	Name    string
	Version string
	From    string // From is npm or PyPI.
	When    string // When says in which checks a server is compared, or what a client does.
}

// When a server is compared.
const (
	eachCheck  = "each check"
	everything = "everything"
)

// Servers returns the real servers of the laboratory, as NeedServers and NeedMoreServers return them, and
// those that only other tests use.
func Servers() (all []Listed) {
	first := versionsOf(pinsPackage)
	for _, part := range []Part{Everything, Filesystem, Memory, SequentialThinking} {
		all = append(all, Listed{string(part), first["@modelcontextprotocol/"+string(part)], "npm", eachCheck})
	}
	_, timeVersion, _ := strings.Cut(timePin, "@")
	_, gitVersion, _ := strings.Cut(gitPin, "@")
	all = append(all, Listed{string(Time), timeVersion, "PyPI", eachCheck})
	for _, s := range servers {
		all = append(all, Listed{s.pkg, versionsOf(pinsServersPackage)[s.pkg], "npm", eachCheck})
	}
	for _, s := range moreServers {
		all = append(all, Listed{s.pkg, versionsOf(pinsMoreServersPackage)[s.pkg], "npm", everything})
	}
	for _, s := range pypiServers {
		name, version, _ := strings.Cut(s.pins[0], "==")
		all = append(all, Listed{name, version, "PyPI", everything})
	}
	if !slices.ContainsFunc(all, func(l Listed) bool { return l.Name == string(Git) && l.Version == gitVersion }) {
		all = append(all, Listed{string(Git), gitVersion, "PyPI", ""})
	}
	return all
}

// Clients returns the real clients and client libraries of the laboratory that are not Go modules.
func Clients() (all []Listed) {
	const reads, calls = "reads what gauze writes", "calls servers through gauze"
	for _, pins := range []string{pinsClientsPackage, pinsGeminiPackage, pinsMorePackage} {
		versions := versionsOf(pins)
		for _, name := range slices.Sorted(maps.Keys(versions)) {
			all = append(all, Listed{name, versions[name], "npm", reads})
		}
	}
	libraries := versionsOf(pinsPackage)
	for _, name := range []string{"@modelcontextprotocol/sdk", "@modelcontextprotocol/client"} {
		all = append(all, Listed{name, libraries[name], "npm", calls})
	}
	return all
}

// NameOf returns the name of the part with this constant, as Everything.
func NameOf(constant string) string {
	return string(map[string]Part{"Everything": Everything, "Filesystem": Filesystem, "Memory": Memory,
		"SequentialThinking": SequentialThinking, "Time": Time, "Git": Git}[constant])
}

// versionsOf returns the packages of a pin file and their versions.
func versionsOf(file string) map[string]string {
	var manifest struct{ Dependencies, OptionalDependencies map[string]string }
	if err := json.Unmarshal([]byte(pinned(file)), &manifest); err != nil {
		panic(err) // embedded at build time
	}
	for name, version := range manifest.OptionalDependencies {
		manifest.Dependencies[name] = version
	}
	return manifest.Dependencies
}
