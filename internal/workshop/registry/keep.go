package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// Responses are cached in one file each, named by the hash of the URL and readable only by its
// owner. The modification time of the file is the time of the response. Errors of the cache are
// ignored: the next request goes to the registry.
const (
	maxAge  = 24 * time.Hour
	maxKept = 128
)

// kept is a cached response, unmodified: readPage validates it again.
type kept struct {
	URL    string          `json:"url"`
	ETag   string          `json:"etag,omitempty"`
	Answer json.RawMessage `json:"answer"`

	at time.Time
}

func (k kept) fresh(now time.Time) bool {
	age := now.Sub(k.at)
	return age >= 0 && age < maxAge
}

// dir returns the cache directory of this registry, or "". Each registry has its own, so that none
// can answer for another.
func (s Source) dir() string {
	base, err := s.base()
	if err != nil {
		return ""
	}
	root := s.Dir
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		root = filepath.Join(cache, "gauze", "registry")
	}
	return filepath.Join(root, hash(base)[:16])
}

func (s Source) file(address string) string { return filepath.Join(s.dir(), hash(address)+".json") }

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// kept returns the cached response to one request.
func (s Source) kept(address string) (k kept, ok bool) {
	k, ok = readKept(s.file(address))
	return k, ok && k.URL == address
}

func readKept(file string) (k kept, ok bool) {
	f, err := os.Open(file)
	if err != nil {
		return kept{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return kept{}, false
	}
	const frame = 8 << 10 // room for the address and the etag
	content, err := io.ReadAll(io.LimitReader(f, maxAnswer+frame))
	if err != nil || json.Unmarshal(content, &k) != nil {
		return kept{}, false
	}
	k.ETag, k.at = plainTag(k.ETag), info.ModTime()
	return k, true
}

// keep caches a response atomically.
func (s Source) keep(k kept) {
	content, err := json.Marshal(k)
	if dir := s.dir(); err != nil || dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	_ = files.Swap(s.file(k.URL), content)
	all := s.files()
	for _, old := range all[min(maxKept, len(all)):] {
		os.Remove(old)
	}
}

// renew marks a cached response as current.
func (s Source) renew(address string) {
	now := time.Now()
	os.Chtimes(s.file(address), now, now)
}

// files returns the cached responses, the newest first. It ignores other files.
func (s Source) files() (files []string) {
	entries, err := os.ReadDir(s.dir())
	if err != nil {
		return nil
	}
	at := map[string]time.Time{}
	for _, entry := range entries {
		name, ours := strings.CutSuffix(entry.Name(), ".json")
		info, err := entry.Info()
		if !ours || len(name) != 2*sha256.Size || err != nil || !info.Mode().IsRegular() {
			continue
		}
		file := filepath.Join(s.dir(), entry.Name())
		files, at[file] = append(files, file), info.ModTime()
	}
	slices.SortFunc(files, func(a, b string) int { return at[b].Compare(at[a]) })
	return files
}

// allKept returns the servers of all cached responses and the time of the oldest one.
func (s Source) allKept() (servers []Server, oldest time.Time) {
	files := s.files()
	for _, file := range files[:min(maxKept, len(files))] {
		k, ok := readKept(file)
		if answer, err := readPage(k.Answer); ok && err == nil {
			servers, oldest = append(servers, answer.servers...), k.at
		}
	}
	return servers, oldest
}
