// node probe.mjs RELAY-URL NAME [ATTRIBUTES-JSON] [SCREENSHOT.png]
//
// Plays a broadcast in headless Chromium and prints, each second, a line of JSON: how often the picture has changed,
// how many of 2304 pixels are not black, how loud the sound was and at what frequency. Ends when standard input does.
import http from "node:http";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const [url, name, attributes = "{}", screenshot] = process.argv.slice(2);

const bundle = await build({
	entryPoints: [new URL("page.js", import.meta.url).pathname],
	bundle: true,
	format: "esm",
	write: false,
	logLevel: "error",
});
const server = http.createServer((request, response) => {
	if (request.url === "/page.js") {
		response.setHeader("content-type", "text/javascript");
		response.end(bundle.outputFiles[0].contents);
	} else {
		response.setHeader("content-type", "text/html");
		response.end('<!doctype html><meta charset="utf-8"><script type="module" src="page.js"></script><body></body>');
	}
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	headless: true,
	args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
});
const page = await browser.newPage({ viewport: { width: 700, height: 420 } });
page.on("console", (message) => console.error(`[${message.type()}] ${message.text().slice(0, 300)}`));
page.on("pageerror", (error) => console.error(`[page] ${String(error).slice(0, 300)}`));
await page.goto(`http://localhost:${server.address().port}/`);
await page.waitForFunction(() => window.play && customElements.get("moq-watch"));
await page.evaluate(([u, n, a]) => window.play(u, n, a), [url, name, JSON.parse(attributes)]);

let stopped = false;
process.stdin.on("end", () => {
	stopped = true;
});
process.stdin.resume();
while (!stopped) {
	await page.waitForTimeout(1000);
	console.log(JSON.stringify(await page.evaluate(() => window.sample())));
}
if (screenshot) await page.screenshot({ path: screenshot });
await browser.close();
server.close();
