import { once } from "node:events";
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { openPage, Player, relayUrl, useBrowser, useRelay } from "./harness.ts";

useBrowser();
const relay = useRelay({ clip: true });

/** A site of somebody else that puts the player on its page. */
async function site(html: string): Promise<string> {
	const server = createServer((_, response) => {
		response.setHeader("Content-Type", "text/html; charset=utf-8");
		response.end(`<!doctype html><html lang="en"><title>site</title><body>${html}</body></html>`);
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => void server.close());
	const address = server.address();
	if (!address || typeof address === "string") throw new Error("no port");
	return `http://localhost:${address.port}/`;
}

test("the player on a page of another site, and what the page can do with it", async () => {
	const from = relayUrl(relay.port);
	const page = await openPage(
		await site(
			`<script type="module" src="${from}player.js"></script>
			<div style="width: 320px; --moq-player-accent: #e11d48"><moq-player url="${from}" namespace="live/clip"></moq-player></div>`,
		),
	);
	await page.waitForFunction(() => customElements.get("moq-player") !== undefined);
	const player = new Player(page);
	await player.waitPlaying("on another site");
	const box = await page.locator("moq-player").boundingBox();
	expect(Math.round(box?.width ?? 0)).toBe(320);
	expect(Math.round(box?.height ?? 0)).toBe(180);
	// Properties, events, and leaving the page again.
	const seen = await page.evaluate(async () => {
		const p = document.querySelector("moq-player");
		if (!p) throw new Error("no player");
		const states: string[] = [];
		p.addEventListener("statechange", () => states.push(p.state));
		await new Promise((resolve) => p.addEventListener("stats", resolve, { once: true }));
		const frame = await new Promise<{ width: number }>((resolve) => p.requestVideoFrameCallback(resolve));
		p.pause();
		await new Promise((resolve) => setTimeout(resolve, 300));
		const parent = p.parentElement;
		p.remove();
		const gone = p.state;
		p.play();
		parent?.append(p);
		return { states, tracks: p.tracks.map((t) => t.name), width: frame.width, gone };
	});
	expect(seen.tracks).toEqual(["video-720p", "video-360p"]);
	expect(seen.states).toContain("paused");
	expect(seen.gone).toBe("idle");
	expect([640, 1280]).toContain(seen.width);
	await player.waitPlaying("after it was taken out and put in again");
});

test("two players on one page", async () => {
	const from = relayUrl(relay.port);
	const player = `<moq-player url="${from}" namespace="live/clip" style="width: 300px" muted></moq-player>`;
	const page = await openPage(await site(`<script type="module" src="${from}player.js"></script>${player}${player}`));
	await expect
		.poll(() => page.evaluate(() => [...document.querySelectorAll("moq-player")].map((p) => p.state)), {
			timeout: 60_000,
		})
		.toEqual(["playing", "playing"]);
});
