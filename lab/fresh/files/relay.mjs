// A reverse proxy in front of MCP servers: relay.mjs PORT TARGETS [limit|key]. TARGETS are ports,
// used in turn, as a load balancer without sticky sessions does. "limit" answers 429, "key" answers
// 403 without an API key, as a gateway does.
import http from 'node:http';
const [port, targets, rule] = process.argv.slice(2);
const to = targets.split(',');
let turn = 0;
http.createServer((request, response) => {
  if (rule === 'limit') {
    response.writeHead(429, {'Retry-After': '3600', 'Content-Type': 'application/json'});
    return response.end('{"message":"API rate limit exceeded"}');
  }
  if (rule === 'key' && request.headers['x-api-key'] !== 'k-2f61') {
    response.writeHead(403, {'Content-Type': 'application/json'});
    return response.end('{"message":"Forbidden"}');
  }
  const {method, url: path, headers} = request;
  const forward = http.request({host: '127.0.0.1', port: to[turn++ % to.length], method, path, headers}, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  forward.on('error', () => response.writeHead(502).end());
  request.pipe(forward);
}).listen(Number(port), '127.0.0.1');
