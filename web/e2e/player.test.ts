import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freePort, openPage, Program, relayUrl, startClip, startRelay, useBrowser, watch } from "./harness.ts";
import { Link } from "./link.ts";

useBrowser();

test("the clip is seen and heard", async () => {
	const port = await freePort();
	await startRelay(port);
	await startClip(port);
	const player = await watch(port, { statistics: "" }, { dark: true, height: 1200 });
	const sight = await player.waitPlaying("the clip");
	// The bed of the clip's sound is at 220 Hz, its beeps at 880 and 1320.
	expect(Math.min(...[220, 880, 1320].map((hz) => Math.abs(sight.pitch - hz)))).toBeLessThan(25);
	const { stats } = await player.info();
	expect(stats?.video.map((v) => v.name)).toEqual(["video-360p", "video-720p"]);
	expect(stats?.audio).toMatchObject({ name: "audio", datagrams: true });
	expect(stats?.firstPicture).toBeLessThan(3000);
	await player.screenshot("player-dark");
});

test.each([
	["LOC", "live/clip", ["--packaging", "loc"], true],
	["the hang catalog, with sound on streams", "live/clip.hang", [], false],
])("%s", async (what, namespace, args, datagrams) => {
	const port = await freePort();
	await startRelay(port);
	await startClip(port, ...args, "--namespace", namespace);
	const player = await watch(port, { namespace });
	await player.waitPlaying(what);
	expect((await player.info()).stats?.audio?.datagrams).toBe(datagrams);
});

test("a narrow link costs the better picture, and a wide one brings it back", async () => {
	const port = await freePort();
	await startRelay(port);
	await startClip(port);
	const link = await Link.open(port);
	const fingerprint = await (await fetch(`${relayUrl(port)}certificate.sha256`)).text();
	const player = await watch(port, { url: `https://127.0.0.1:${link.port}/`, fingerprint, latency: "150" });
	await player.waitPlaying("at first");
	const showing = async () => (await player.info()).stats?.showing;
	await expect.poll(showing, { timeout: 20_000 }).toBe("video-720p");
	link.rate = 1e6;
	await expect.poll(showing, { timeout: 20_000 }).toBe("video-360p");
	await player.waitPlaying("on the narrow link");
	await player.page.waitForTimeout(3000);
	const { stats } = await player.info();
	expect(stats?.showing).toBe("video-360p");
	link.rate = Number.POSITIVE_INFINITY;
	await expect.poll(showing, { timeout: 60_000 }).toBe("video-720p");
	await player.waitPlaying("on the wide link");
}, 150_000);

test("sound and picture stay together", async () => {
	const port = await freePort();
	await startRelay(port);
	await startClip(port);
	const player = await watch(port, { latency: "200" });
	await player.waitPlaying("the clip");
	const skews: number[] = [];
	for (let i = 0; i < 10; i++) {
		await player.page.waitForTimeout(500);
		const skew = (await player.info()).stats?.skew;
		if (skew !== undefined) skews.push(Math.abs(skew));
	}
	expect(skews.length).toBeGreaterThan(5);
	skews.sort((a, b) => a - b);
	expect(skews[Math.floor(skews.length * 0.8)]).toBeLessThan(80);
});

test("the delay that is shown is the true one", async () => {
	const port = await freePort();
	await startRelay(port);
	await startClip(port);
	// The bar at the top flashes in the first picture of each group. When that was captured another program tells.
	const csv = join(tmpdir(), `moq-web-e2e-${process.pid}.csv`);
	const sub = new Program("moq-sub", [
		...["--tls-insecure", "--namespace", "live/clip", "--track", "video-360p", "--csv", csv, "--stats"],
		...["--duration", "30s", `moqt://127.0.0.1:${port}/`],
	]);
	const player = await watch(port, { latency: "300", quality: "video-360p" });
	await player.waitPlaying("the clip");
	await player.page.waitForTimeout(2000);
	const shown: number[] = [];
	const flashes: number[] = [];
	for (let i = 0; i < 6; i++) {
		flashes.push(...(await player.look(1000)).flashes);
		const { stats } = await player.info();
		const delay = stats?.video.find((v) => v.name === stats.showing)?.delay?.p50;
		if (delay !== undefined) shown.push(delay);
	}
	await sub.terminate();
	const captured = readFileSync(csv, "utf8")
		.trim()
		.split("\n")
		.map((line) => line.split(","))
		.filter((f) => f[4] === "0" && f[7])
		.map((f) => Date.parse(f[0] as string) - Number(f[7]) / 1000);
	const delays = flashes.flatMap((at) => {
		const delay = Math.min(...captured.map((c) => at - c).filter((d) => d > 0));
		return Number.isFinite(delay) ? [delay] : [];
	});
	const middle = (x: number[]) => x.sort((a, b) => a - b)[Math.floor(x.length / 2)] as number;
	expect(delays.length).toBeGreaterThan(3);
	// Half a refresh passes until the page itself can see what was drawn.
	expect(Math.abs(middle(delays) - middle(shown)), `measured ${delays}, shown ${shown}`).toBeLessThan(34);
});

test("quality is what was chosen", async () => {
	const port = await freePort();
	await startRelay(port);
	await startClip(port);
	const player = await watch(port, { quality: "video-360p" });
	await player.waitPlaying("360p");
	const width = () =>
		player.page.evaluate(() => document.querySelector("moq-player")?.shadowRoot?.querySelector("canvas")?.width);
	expect(await width()).toBe(640);
	expect((await player.info()).stats?.video.map((v) => v.name)).toEqual(["video-360p"]);
	await player.page.evaluate(() => document.querySelector("moq-player")?.setAttribute("quality", "video-720p"));
	await expect.poll(width, { timeout: 20_000 }).toBe(1280);
	await expect.poll(async () => (await player.info()).stats?.showing).toBe("video-720p");
});

describe("goes on by itself", () => {
	test("after publisher and relay were restarted", async () => {
		const port = await freePort();
		let relay = await startRelay(port);
		let pub = await startClip(port);
		const player = await watch(port);
		await player.waitPlaying("at first");

		await pub.terminate();
		await player.waitState("waiting", "publisher-gone");
		await player.screenshot("publisher-gone");
		pub = await startClip(port);
		await player.waitPlaying("after a restart of the publisher");

		await relay.terminate();
		relay = await startRelay(port);
		await player.waitPlaying("after a restart of the relay");

		await relay.kill();
		await startRelay(port);
		await player.waitPlaying("after the relay was killed");
		expect((await player.info()).stats?.reconnects).toBeGreaterThan(0);
	}, 180_000);

	test("when the broadcast begins later", async () => {
		const port = await freePort();
		await startRelay(port);
		const player = await watch(port);
		await player.waitState("waiting", "no-broadcast");
		await player.screenshot("no-broadcast");
		await startClip(port);
		await player.waitPlaying("once it has begun");
	});

	test("after a pause", async () => {
		const port = await freePort();
		await startRelay(port);
		await startClip(port);
		const player = await watch(port);
		await player.waitPlaying("at first");
		await player.page.focus("moq-player");
		await player.page.keyboard.press("k");
		await player.waitState("paused");
		expect((await player.look(500)).changes).toBeLessThanOrEqual(1);
		await player.page.keyboard.press("k");
		await player.waitPlaying("after the pause");
	});
});

describe("says what is wrong", () => {
	test("no relay", async () => {
		const port = await freePort();
		await startRelay(port);
		const player = await watch(port, { url: relayUrl(await freePort()) });
		const p = await player.waitState("connecting", "unreachable");
		expect(p?.detail).toContain("Nothing answers at 127.0.0.1");
		await player.screenshot("unreachable");
	});

	test("another certificate", async () => {
		const port = await freePort();
		await startRelay(port);
		const player = await watch(port, { fingerprint: "00".repeat(32) });
		const p = await player.waitState("connecting", "certificate");
		expect(p?.detail).toContain("fingerprint");
	});

	test("not a URL", async () => {
		const port = await freePort();
		await startRelay(port);
		const player = await watch(port, { url: "moqt://127.0.0.1/" });
		await player.waitState("failed", "bad-url");
	});

	test("no WebTransport", async () => {
		const port = await freePort();
		await startRelay(port);
		const before = () => {
			Reflect.deleteProperty(globalThis, "WebTransport");
		};
		const player = await watch(port, {}, { before });
		const p = await player.waitState("failed", "no-webtransport");
		expect(p?.retrying).toBe(false);
		await player.screenshot("no-webtransport");
	});

	test("a codec that cannot be decoded", async () => {
		const port = await freePort();
		await startRelay(port);
		await startClip(port);
		const player = await watch(
			port,
			{},
			{
				// What the worker is asked is answered there; so its script is changed on the way.
				before: () => {
					const Original = Worker;
					globalThis.Worker = class extends Original {
						constructor(url: string | URL, options?: WorkerOptions) {
							const script = `for (const d of [VideoDecoder, AudioDecoder]) d.isConfigSupported = async () => ({ supported: false });
							await import(${JSON.stringify(String(url))});`;
							super(URL.createObjectURL(new Blob([script], { type: "text/javascript" })), options);
						}
					};
				},
			},
		);
		const p = await player.waitState("failed", "codec");
		expect(p?.detail).toContain("avc1");
	});
});

test("the front page lists what there is", async () => {
	const port = await freePort();
	await startRelay(port);
	const page = await openPage(relayUrl(port), { width: 390, height: 700 });
	await page.getByText("Nothing is live right now").waitFor();
	const pub = await startClip(port);
	await page.getByRole("link", { name: /clip/ }).waitFor();
	const dir = process.env.MOQ_E2E_SCREENSHOTS;
	if (dir) await page.screenshot({ path: join(dir, "front-phone.png") });
	await pub.terminate();
	await page.getByText("Nothing is live right now").waitFor();
	await startClip(port);
	await page.getByRole("link", { name: /clip/ }).click();
	await page.waitForSelector("moq-player");
	await expect
		.poll(() => page.evaluate(() => document.querySelector("moq-player")?.state), { timeout: 20_000 })
		.toBe("playing");
});

test("it can be used by keyboard and by what is read out", async () => {
	const port = await freePort();
	await startRelay(port);
	await startClip(port);
	const player = await watch(port, {}, { width: 390, height: 700, dark: true });
	await player.waitPlaying("the clip");
	const { page } = player;
	await page.getByRole("button", { name: "Pause" }).waitFor();
	const state = () =>
		page.evaluate(() => {
			const p = document.querySelector("moq-player");
			return { muted: p?.muted, volume: p?.volume, statistics: p?.hasAttribute("statistics") };
		});
	await page.getByRole("region", { name: "Live video" }).focus();
	await page.keyboard.press("m");
	await page.keyboard.press("s");
	expect(await state()).toEqual({ muted: true, volume: 1, statistics: true });
	await page.keyboard.press("m");
	await page.keyboard.press("ArrowDown");
	expect(await state()).toMatchObject({ muted: false, volume: 0.9 });
	await page.getByRole("button", { name: "Settings" }).press("Enter");
	await page.getByRole("radio", { name: /^360p/ }).waitFor();
	await player.screenshot("phone-settings");
	await page.keyboard.press("Escape");
	expect(await page.getByRole("radio", { name: /^360p/ }).count()).toBe(0);
	await page.waitForTimeout(1500);
	if (process.env.MOQ_E2E_SCREENSHOTS) {
		await page.screenshot({ path: join(process.env.MOQ_E2E_SCREENSHOTS, "phone-statistics.png"), fullPage: true });
	}
});
