package upgrade

import "fmt"

// packages are the Linux packages of a release: how their names end, what installs the file, and the
// word that it needs to install an older version.
var packages = map[string]struct{ suffix, install, older string }{
	"deb":  {".deb", "sudo dpkg -i", ""},
	"rpm":  {".rpm", "sudo rpm -U", " --oldpackage"},
	"apk":  {".apk", "sudo apk add --allow-untrusted", ""}, // the command has verified it
	"arch": {".pkg.tar.zst", "sudo pacman -U", ""},
}

// IsPackage reports whether a channel is that of a Linux package.
func IsPackage(channel string) bool { return packages[channel].suffix != "" }

// PackageCommand returns the command that downloads the release's package, verifies it with its signed
// checksum, and installs it: over a newer version only if the user chose this one.
func (r *Release) PackageCommand(channel string, chosen bool) (string, error) {
	p := packages[channel]
	if chosen {
		p.install += p.older
	}
	name := fmt.Sprintf("gauze_%s_%s_%s%s", r.Version, r.from.OS, r.from.Arch, p.suffix)
	sum, ok := r.sums[name]
	if !ok {
		return "", fmt.Errorf("the release %s does not contain %s\nnext: choose a file from %s", r.Version, name, Address)
	}
	return fmt.Sprintf("curl -fLO %s/%s && echo '%x  %s' | sha256sum -c && %s ./%s", r.Address, name, sum, name, p.install, name), nil
}
