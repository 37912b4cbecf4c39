package registry

import (
	"net/url"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

// Kind is the origin of a package, or Remote for an address.
type Kind string

const (
	NPM    Kind = "npm"
	PyPI   Kind = "pypi"
	OCI    Kind = "oci"
	Remote Kind = "url"
)

const part = `[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*` // of the path of an image

// Valid names. None can start with a dash or contain anything that a shell, a package manager or a
// terminal would interpret: npm's "alias@npm:other", git and file addresses, options.
var (
	serverName = regex.New(`^[A-Za-z0-9][A-Za-z0-9.-]{0,99}/[A-Za-z0-9._-]{1,99}$`)
	npmName    = regex.New(`^(@[a-z0-9][a-z0-9._-]{0,99}/)?[a-z0-9][a-z0-9._-]{0,99}$`)
	pypiName   = regex.New(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$`)
	imageName  = regex.New(`^([a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?/)?` + part + `(/` + part + `)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?$`)

	npmVersion  = regex.New(`^[0-9]{1,10}\.[0-9]{1,10}\.[0-9]{1,10}([-+][0-9A-Za-z.+-]{1,64})?$`)
	pypiVersion = regex.New(`^[0-9]{1,10}(\.[0-9]{1,10}){0,5}([.+-]?[0-9A-Za-z]{1,32}){0,4}$`)
	imageTag    = regex.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

	envName  = regex.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	argName  = regex.New(`^-{0,2}[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	argValue = regex.New(`^[A-Za-z0-9{/.-][A-Za-z0-9._/@:=,+{}-]{0,99}$`)
	header   = regex.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) // stricter than HTTP, which allows quotes
	hostName = regex.New(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$`)
	pathText = regex.New(`^[A-Za-z0-9/._~%@:+,=&-]*$`)
)

// validName reports whether a name is valid for this kind.
func validName(kind Kind, name string) bool {
	switch kind {
	case NPM:
		return npmName.MatchString(name)
	case PyPI:
		return pypiName.MatchString(name)
	case OCI:
		return len(name) <= 300 && imageName.MatchString(name)
	case Remote:
		return publicURL(name)
	}
	return false
}

// publicURL reports whether address is an https URL of a host with a public name.
func publicURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil || len(address) > 500 || u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, ending := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa", ".onion"} {
		if strings.HasSuffix(host, ending) {
			return false
		}
	}
	return len(host) <= 253 && hostName.MatchString(host) && pathText.MatchString(u.EscapedPath()) && pathText.MatchString(u.RawQuery)
}

// sameName reports whether two valid names denote the same package.
func sameName(kind Kind, a, b string) bool { return canonical(kind, a) == canonical(kind, b) }

func canonical(kind Kind, name string) string {
	switch kind {
	case PyPI:
		return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_.", r) }), "-")
	case OCI:
		name = strings.TrimPrefix(repository(name), "docker.io/")
		return strings.TrimPrefix(name, "library/")
	case Remote:
		u, err := url.Parse(name)
		if err != nil {
			return name
		}
		return strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/")
	}
	return name
}

// repository returns an image name without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// loads reports whether a variable controls which code runs, what it trusts or where it connects. A
// registry may not ask for such a variable.
func loads(name string) bool {
	return trust.Loads(name) || trust.Named(name,
		[]string{"GIT_CONFIG", "GIT_SSH", "GIT_EXEC", "GIT_PROXY", "DOCKER_HOST", "DOCKER_CONFIG", "GAUZE_"}, []string{"_INDEX_URL"},
		[]string{"USERPROFILE", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_REPL_EXTERNAL_MODULE",
			"GIT_ASKPASS", "GIT_TEMPLATE_DIR", "GIT_DIR", "GIT_PAGER", "GIT_EDITOR", "EDITOR", "PAGER"})
}

// directs reports whether a variable is the address that a server connects to. A registry may ask
// for such a variable, but not provide its value.
func directs(name string) bool { return strings.HasSuffix(strings.ToUpper(name), "_BASE_URL") }
