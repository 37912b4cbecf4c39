package kernel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// TestTransparency sends generated messages both ways, in both eras, and
// compares every byte that is not ours to change: all but the ids, and these
// as each side knows them. Client and server know beforehand what the other
// will say, for both generate it from the same seed.
func TestTransparency(t *testing.T) {
	t.Parallel()
	seed, total := sample.Seed(t), 0
	exchanges := sample.Part(7_500, 5) // requests of the client's, and what comes with them
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			n := flood(t, chatter{seed: seed, modern: era == "modern"}, exchanges)
			t.Logf("%d messages", n)
			total += n
		})
	}
	if total < 20*exchanges/3 {
		t.Errorf("only %d messages", total)
	}
}

// floodSeed tells the server the seed.
const floodSeed = "GAUZE_TEST_FLOOD_SEED"

// flood has one conversation and returns how many messages it had.
func flood(t *testing.T, talk chatter, exchanges int) int {
	dir := t.TempDir()
	kind := "flood-legacy"
	if talk.modern {
		kind = "flood-modern"
	}
	spec := plainServer(kind, dir)
	spec.Env = append(spec.Env, fmt.Sprintf("%s=%d", floodSeed, talk.seed))
	session := New(Options{
		Spec: spec, Limits: Limits{Window: 1 << 20}, Timing: Timing{ProbeInterval: time.Hour, Timeout: time.Minute, Patience: time.Minute},
	})
	session.NeverList() // the script of this server has no answer to a question of ours
	in, say := io.Pipe()
	client := &floodClient{t: t, talk: talk.all(exchanges), gone: make(chan struct{}), free: make(chan struct{}, inFlight), questions: make(chan posed, 1000)}
	ended := make(chan error, 1)
	go func() { ended <- session.Serve(context.Background(), in, client) }()
	sent := client.speak(say)
	say.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if client.exchange != exchanges {
		t.Fatalf("%d of %d requests were answered", client.exchange, exchanges)
	}
	client.compare(filepath.Join(dir, "heard"), sent)
	return client.lines + len(sent)
}

// inFlight is how many requests the client has open: more than the server
// answers at once, fewer than may wait.
const inFlight = 64

// floodClient is the client: it checks what it is told as it comes.
type floodClient struct {
	t         *testing.T
	talk      []*exchange
	rest      []byte
	exchange  int         // whose lines are due
	due       [][3]string // what is still to come of it: before the id, the id, behind it
	lines     int
	failed    bool
	once      sync.Once
	gone      chan struct{} // closed at the first mistake, or when all is said
	free      chan struct{} // one for every answer
	questions chan posed
}

// posed is a request of the server's: whose, and under which id of ours.
type posed struct {
	exchange int
	id       string
}

func (c *floodClient) Write(b []byte) (int, error) {
	c.rest = append(c.rest, b...)
	for {
		line, rest, ok := bytes.Cut(c.rest, []byte("\n"))
		if !ok {
			c.rest = append([]byte(nil), c.rest...)
			return len(b), nil
		}
		c.rest = rest
		c.hear(string(line))
	}
}

var questionID = regexp.MustCompile(`^"g1-s[1-9][0-9]*"$`)

// hear compares one line with the one that is due.
func (c *floodClient) hear(line string) {
	if c.failed {
		return
	}
	c.lines++
	if len(c.due) == 0 {
		c.due = c.talk[c.exchange].toClient()
	}
	want := c.due[0]
	c.due = c.due[1:]
	before, id, behind := want[0], want[1], want[2]
	if id == "?" && len(line) > len(before)+len(behind) { // a question: the id is ours
		id = line[len(before) : len(line)-len(behind)]
		if !questionID.MatchString(id) {
			c.fail("a question under the id %s", id)
			return
		}
		c.questions <- posed{c.exchange, id}
	}
	if line != before+id+behind {
		c.fail("exchange %d: the client heard\n%s\nwant\n%s", c.exchange, line, before+id+behind)
		return
	}
	if len(c.due) == 0 {
		c.exchange++
		c.free <- struct{}{}
		if c.exchange == len(c.talk) {
			c.once.Do(func() { close(c.gone) })
		}
	}
}

func (c *floodClient) fail(format string, args ...any) {
	c.failed = true
	c.t.Errorf(format, args...)
	c.once.Do(func() { close(c.gone) })
}

// speak says everything the client has to say, and returns it as the server
// must hear it.
func (c *floodClient) speak(to io.Writer) (sent [][3]string) {
	put := func(before, id, behind, idAtServer string) {
		sent = append(sent, [3]string{before, idAtServer, behind})
		if _, err := io.WriteString(to, before+id+behind+"\n"); err != nil {
			c.t.Error(err)
		}
	}
	answer := func(q posed) {
		x := c.talk[q.exchange]
		put(x.answer[0], q.id, x.answer[1], x.questionID)
	}
	open := 0
	for k, x := range c.talk {
		for open == inFlight || k == 1 && open > 0 { // nothing before the handshake is over
			select {
			case <-c.free:
				open--
			case q := <-c.questions:
				answer(q)
			case <-c.gone:
				return sent
			}
		}
		put(x.request[0], x.id, x.request[1], "!")
		open++
		for _, notice := range x.clientNotices {
			put(notice, "", "", "")
		}
	}
	for {
		select {
		case q := <-c.questions:
			answer(q)
		case <-c.free:
		case <-c.gone:
			for len(c.questions) > 0 {
				answer(<-c.questions)
			}
			return sent
		}
	}
}

var ownID = regexp.MustCompile(`^[1-9][0-9]*$`)

// compare holds what the server heard against what the client said, in order.
func (c *floodClient) compare(file string, sent [][3]string) {
	c.t.Helper()
	f, err := os.Open(file)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	ids := map[string]bool{}
	for i, want := range sent {
		line, err := r.ReadString('\n')
		if err != nil {
			c.t.Fatalf("the server heard %d of %d messages", i, len(sent))
		}
		line = strings.TrimSuffix(line, "\n")
		before, id, behind := want[0], want[1], want[2]
		if id == "!" && len(line) > len(before)+len(behind) { // a request: the id is ours
			id = line[len(before) : len(line)-len(behind)]
			if !ownID.MatchString(id) || ids[id] {
				c.t.Fatalf("a request under the id %s", id)
			}
			ids[id] = true
		}
		if line != before+id+behind {
			c.t.Fatalf("message %d: the server heard\n%s\nwant\n%s", i, line, before+id+behind)
		}
	}
	if more, _ := r.ReadString('\n'); more != "" {
		c.t.Errorf("the server heard more: %s", more)
	}
}

// serveFlood answers the k-th request with the k-th exchange and writes down
// all it hears.
func serveFlood(in io.Reader, out io.Writer, dir string, modern bool) {
	seed, err := strconv.ParseUint(os.Getenv(floodSeed), 10, 64)
	if err != nil {
		panic(err)
	}
	talk := chatter{seed: seed, modern: modern}
	f, err := os.Create(filepath.Join(dir, "heard"))
	if err != nil {
		panic(err)
	}
	heard := bufio.NewWriterSize(f, 1<<20)
	defer f.Close()
	defer heard.Flush()
	k := 0
	eachLine(in, func(line []byte, m plainMessage) {
		heard.Write(line)
		if m.Method == "" || m.ID == nil {
			return
		}
		var b bytes.Buffer
		for _, part := range talk.exchange(k).byServer(string(m.ID)) {
			b.WriteString(part[0] + part[1] + part[2] + "\n")
		}
		out.Write(b.Bytes())
		k++
	})
}

// chatter generates what both sides say.
type chatter struct {
	seed   uint64
	modern bool
}

// exchange is one request and all that comes with it. Two texts are what
// stands before and behind an id.
type exchange struct {
	request       [2]string
	id            string // the client's
	clientNotices []string
	serverNotices []string
	question      [2]string // of the server's, to the client; empty: none
	questionID    string
	answer        [2]string // the client's
	response      [2]string
}

// toClient is what the client hears, in order.
func (x *exchange) toClient() (lines [][3]string) {
	lines = x.byServer(x.id)
	for i := range lines {
		if lines[i][0] == x.question[0] && x.questionID != "" && i == len(x.serverNotices) {
			lines[i][1] = "?"
		}
	}
	return lines
}

// byServer is what the server says, in order.
func (x *exchange) byServer(id string) (lines [][3]string) {
	for _, notice := range x.serverNotices {
		lines = append(lines, [3]string{notice, "", ""})
	}
	if x.questionID != "" {
		lines = append(lines, [3]string{x.question[0], x.questionID, x.question[1]})
	}
	return append(lines, [3]string{x.response[0], id, x.response[1]})
}

// all says everything at once; what both sides of one process need twice.
func (c chatter) all(exchanges int) []*exchange {
	all := make([]*exchange, exchanges)
	for k := range all {
		all[k] = c.exchange(k)
	}
	return all
}

func (c chatter) exchange(k int) *exchange {
	if k == 0 && !c.modern {
		return &exchange{
			request:  [2]string{`{"jsonrpc":"2.0","id":`, `,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"flood","version":"1"}}}`},
			id:       `"hello"`,
			response: [2]string{`{"jsonrpc":"2.0","id":`, `,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"flood","version":"1"}}}`},
		}
	}
	v := voice{rand.New(rand.NewPCG(c.seed, uint64(k)))}
	x := &exchange{id: v.id(k)}
	token := ""
	if v.IntN(3) == 0 {
		token = v.id(k)
	}
	method := v.pick("tools/call", "tools/call", "resources/read", "prompts/get", "tools/list", "completion/complete", "resources/subscribe", "tasks/get",
		"future/method", "x/"+v.word(), "ümläut/😀", `tools\/c\u0061ll2`)
	x.request = v.message(`"method":"`+method+`"`, v.params(method, token, c.modern))
	for range v.IntN(2) {
		x.clientNotices = append(x.clientNotices, v.whole(`"method":"notifications/`+v.word()+`"`, `"params":`+v.value(2)))
	}
	for range v.IntN(3) {
		if token != "" && v.IntN(2) == 0 {
			x.serverNotices = append(x.serverNotices, v.whole(`"method":"notifications/progress"`, `"params":{"progressToken":`+token+`,"progress":`+v.number()+`,"y":`+v.value(2)+`}`))
			continue
		}
		x.serverNotices = append(x.serverNotices, v.whole(`"method":"notifications/`+v.pick("message", "resources/updated", "future", v.word())+`"`, `"params":`+v.value(3)))
	}
	if !c.modern && v.IntN(5) == 0 {
		x.questionID = v.id(k)
		x.question = v.message(`"method":"`+v.pick("sampling/createMessage", "elicitation/create", "roots/list", "x/"+v.word())+`"`, `"params":`+v.value(3))
		x.answer = v.message(v.outcome())
	}
	x.response = v.message(v.outcome())
	return x
}

// voice speaks JSON of all kinds.
type voice struct{ *rand.Rand }

func (v voice) pick(words ...string) string { return words[v.IntN(len(words))] }

// outcome is a result or an error.
func (v voice) outcome() string {
	if v.IntN(4) == 0 {
		return `"error":{"code":` + v.pick("-32602", "-1", "12345678901234567890", "1.5") + `,"message":` + v.text() + `,"data":` + v.value(3) + `,"z":1}`
	}
	return `"result":` + v.value(4)
}

// params of a request; where we read them ourselves they are what a client
// would send, and more.
func (v voice) params(method, token string, modern bool) string {
	meta := ""
	if token != "" {
		meta = `"progressToken":` + token + `,`
	}
	if modern {
		meta += `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`
	}
	if method != "tools/call" && meta == "" {
		switch v.IntN(4) {
		case 0:
			return ""
		case 1:
			return `"params":` + v.value(4)
		}
	}
	space := v.pick("", "", " ", "\t")
	return `"params":{` + space + `"name":` + v.text() + `,"arguments":` + v.value(4) + `,` + space + `"_meta":{` + meta + `"com.example/` + v.word() + `":` + v.value(2) + `},"future` + v.word() + `":` + v.value(2) + space + `}`
}

// message puts members in any order around an id, with others nobody knows.
func (v voice) message(members ...string) (around [2]string) {
	line := v.whole(append(members, `"id":@`)...)
	before, behind, _ := strings.Cut(line, `"id":@`)
	return [2]string{before + `"id":`, behind}
}

func (v voice) whole(members ...string) string {
	members = append(members, `"jsonrpc":"2.0"`)
	for range v.IntN(2) {
		members = append(members, v.pick(`"x`+v.word()+`"`, `"_meta"`, `"ids"`, `"\u0078"`)+`:`+v.value(2))
	}
	present := members[:0]
	for _, member := range members {
		if member != "" {
			present = append(present, member)
		}
	}
	v.Shuffle(len(present), func(i, j int) { present[i], present[j] = present[j], present[i] })
	space := v.pick("", "", "", " ", "\t ")
	return space + "{" + space + strings.Join(present, space+","+space) + space + "}"
}

// id is of any shape, and unique among those in flight.
func (v voice) id(k int) string {
	switch v.IntN(12) {
	case 0:
		return fmt.Sprintf(`"%d-\u00e9\"\\%s"`, k, v.pick("", `\ud83d\ude00`, "😀", `\/`))
	case 1:
		return fmt.Sprintf(`"%d%s"`, k, strings.Repeat("x", 300))
	case 2:
		return fmt.Sprint(9007199254740993 + uint64(k))
	case 3:
		return fmt.Sprint(-1 - k)
	case 4:
		return fmt.Sprintf("%de2", k+1)
	case 5:
		return fmt.Sprintf("%d.50", k)
	case 6:
		return fmt.Sprintf("1234567890123456789%d", k)
	case 7:
		return fmt.Sprintf(`"g1-%d"`, k)
	case 8:
		if k%500 == 0 {
			return v.pick(`""`, `0`, `-0`, `" "`)
		}
	}
	if k%2 == 0 {
		return fmt.Sprintf(`"%d"`, k)
	}
	return fmt.Sprint(k)
}

var words = []string{"a", "Zeta", "hologram", "snake_case", "ünï", "日本", "😀", "x.y/z", "k1", "k2", "k3"}

func (v voice) word() string { return v.pick(words...) }

var numbers = []string{"0", "-0", "1", "-1", "0.1", "1e2", "1E+400", "-1.5e-7", "12345678901234567890", "0.1000000000000000055511151231257827", "3.0", "18446744073709551615"}

func (v voice) number() string { return v.pick(numbers...) }

var pieces = []string{"plain words", `\"`, `\\`, `\/`, `\b\f\n\r\t`, `\u0000`, `\u001b[31m`, `\u003ctag\u003e`, "<&>", "é", `\u00e9`, "\u2028", "😀", `\ud83d\ude00`,
	`\ud800`, "\u202e", "\x7f", "{[,:]}", `{\"jsonrpc\":\"2.0\",\"id\":1}`, "日本語"}

func (v voice) text() string {
	text := `"`
	for range v.IntN(5) {
		text += v.pick(pieces...)
	}
	if v.IntN(500) == 0 {
		text += strings.Repeat("a long text ", v.IntN(2000))
	}
	return text + `"`
}

// keys mean something to us where they stand elsewhere.
var keys = []string{`"id"`, `"method"`, `"jsonrpc"`, `"isError"`, `"content"`, `"tools"`, `"uri"`, `"cursor"`, `"resultType"`, `"x"`, `"\u0069d"`, `"Method"`, `"ünï"`, `""`}

// value is any JSON.
func (v voice) value(depth int) string {
	switch n := v.IntN(10); {
	case n < 2 || depth == 0 && n < 6:
		return v.text()
	case n < 4 || depth == 0:
		return v.pick("true", "false", "null", v.number())
	case n < 6:
		return "[" + v.list(depth, func() string { return "" }) + "]"
	default:
		return "{" + v.list(depth, func() string { return v.pick(keys...) + v.pick(":", " : ") }) + "}"
	}
}

func (v voice) list(depth int, key func() string) string {
	var parts []string
	for range v.IntN(4) {
		parts = append(parts, key()+v.value(depth-1))
	}
	return strings.Join(parts, v.pick(",", ", "))
}

// TestChatterIsJSON makes sure that the other test does not compare rubbish.
func TestChatterIsJSON(t *testing.T) {
	t.Parallel()
	seed := sample.Seed(t)
	for _, modern := range []bool{false, true} {
		talk := chatter{seed: seed, modern: modern}
		for k := range 500 {
			x := talk.exchange(k)
			lines := append(x.clientNotices, x.request[0]+x.id+x.request[1])
			for _, part := range x.byServer("1") {
				lines = append(lines, part[0]+part[1]+part[2])
			}
			for _, line := range lines {
				var m plainMessage
				if err := json.Unmarshal([]byte(line), &m); err != nil || strings.Contains(line, "\n") {
					t.Fatalf("%v: %s", err, line)
				}
			}
		}
	}
}
