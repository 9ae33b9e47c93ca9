// node net.mjs RELAY-URL CERTIFICATE-HASH NAME OTHER-NAME
//
// Publishes the track "clock" of NAME in headless Chromium until standard input ends, and prints, as lines of JSON, the
// version that was negotiated, what a second page has received of NAME, and what it has received of OTHER-NAME.
import http from "node:http";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const [url, hash, name, other] = process.argv.slice(2);

const bundle = await build({
	entryPoints: [new URL("net.js", import.meta.url).pathname],
	bundle: true,
	format: "esm",
	write: false,
	logLevel: "error",
});
const server = http.createServer((request, response) => {
	if (request.url === "/net.js") {
		response.setHeader("content-type", "text/javascript");
		response.end(bundle.outputFiles[0].contents);
	} else {
		response.setHeader("content-type", "text/html");
		response.end('<!doctype html><meta charset="utf-8"><script type="module" src="net.js"></script><body></body>');
	}
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	headless: true,
	args: ["--no-sandbox"],
});
const open = async () => {
	const page = await browser.newPage();
	page.on("console", (message) => console.error(`[${message.type()}] ${message.text().slice(0, 300)}`));
	page.on("pageerror", (error) => console.error(`[page] ${String(error).slice(0, 300)}`));
	await page.goto(`http://localhost:${server.address().port}/`);
	await page.waitForFunction(() => window.publish);
	return page;
};
const publisher = await open();
const version = await publisher.evaluate(([u, h, n]) => window.publish(u, h, n), [url, hash, name]);
console.log(JSON.stringify({ version, groups: [] }));
const viewer = await open();
for (const wanted of [name, other]) {
	const got = await viewer.evaluate(([u, h, n]) => window.subscribe(u, h, n, 5), [url, hash, wanted]);
	console.log(JSON.stringify(got));
}
await new Promise((done) => {
	process.stdin.on("end", done);
	process.stdin.resume();
});
await browser.close();
server.close();
