import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freePort, openPage, Program, relayUrl, startRelay, useBrowser, watch } from "./harness.ts";

useBrowser();

const publish = async (port: number, query: Record<string, string> = {}) => {
	const q = new URLSearchParams({ source: "pattern", namespace: "live/studio", start: "", ...query });
	const page = await openPage(`${relayUrl(port)}publish.html?${q}`, { width: 1100, height: 900, dark: true });
	await page.getByRole("status").getByText("Live", { exact: true }).waitFor({ timeout: 30_000 });
	return page;
};

test("what the page publishes can be recorded", async () => {
	const port = await freePort();
	await startRelay(port);
	await publish(port);
	const dir = mkdtempSync(join(tmpdir(), "moq-web-publish-"));
	onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
	const file = join(dir, "out.mp4");
	const sub = new Program("moq-sub", [
		...["--tls-insecure", "--namespace", "live/studio", "--wait", "-o", file, "--duration", "8s"],
		`moqt://127.0.0.1:${port}/`,
	]);
	await sub.exited;
	const probe = execFileSync("ffprobe", [
		...["-v", "error", "-count_packets", "-of", "json"],
		...["-show_entries", "stream=codec_name,width,height,nb_read_packets,sample_rate", file],
	]);
	const { streams } = JSON.parse(String(probe));
	const by = (f: object) => streams.find((s: object) => Object.entries(f).every(([k, v]) => Reflect.get(s, k) === v));
	expect(Number(by({ codec_name: "h264", width: 1280, height: 720 })?.nb_read_packets)).toBeGreaterThan(60);
	expect(Number(by({ codec_name: "h264", width: 640, height: 360 })?.nb_read_packets)).toBeGreaterThan(60);
	expect(Number(by({ codec_name: "opus", sample_rate: "48000" })?.nb_read_packets)).toBeGreaterThan(150);
	const errors = execFileSync("ffmpeg", ["-v", "error", "-i", file, "-map", "0", "-f", "null", "-"], { stdio: "pipe" });
	expect(String(errors)).toBe("");
});

test("what the page publishes is seen and heard in the player, with its delay told truly", async () => {
	const port = await freePort();
	await startRelay(port);
	const page = await publish(port, { height: "360", bitrate: "1" });
	const player = await watch(port, { namespace: "live/studio", latency: "150", statistics: "" }, { dark: true });
	const sight = await player.waitPlaying("the pattern");
	expect(Math.abs(sight.pitch - 440)).toBeLessThan(20);
	await page.bringToFront();
	const dir = process.env.MOQ_E2E_SCREENSHOTS;
	if (dir) await page.screenshot({ path: join(dir, "publish.png") });
	await player.page.bringToFront();

	// The pattern carries the time of its drawing in bars.
	const measured: number[] = [];
	const shown: number[] = [];
	for (let i = 0; i < 8; i++) {
		measured.push(
			...(await player.page.evaluate(async () => {
				const canvas = document.querySelector("moq-player")?.shadowRoot?.querySelector("canvas");
				if (!canvas) throw new Error("no player");
				const copy = new OffscreenCanvas(420, 236);
				const c = copy.getContext("2d", { willReadFrequently: true });
				const delays: number[] = [];
				let last = 0;
				for (const end = performance.now() + 500; performance.now() < end; ) {
					await new Promise(requestAnimationFrame);
					c?.drawImage(canvas, 0, 0, 420, 236);
					const d = c?.getImageData(0, 222, 420, 1).data ?? new Uint8ClampedArray(0);
					let time = 0;
					for (let bit = 0; bit < 42; bit++) time = time * 2 + ((d[(bit * 10 + 5) * 4] ?? 0) > 127 ? 1 : 0);
					if (time !== last) delays.push(performance.timeOrigin + performance.now() - time);
					last = time;
				}
				return delays;
			})),
		);
		const { stats } = await player.info();
		const delay = stats?.video.find((v) => v.name === stats.showing)?.delay?.p50;
		if (delay !== undefined) shown.push(delay);
	}
	const middle = (x: number[]) => x.sort((a, b) => a - b)[Math.floor(x.length / 2)] as number;
	expect(measured.length).toBeGreaterThan(20);
	expect(Math.abs(middle(measured) - middle(shown))).toBeLessThan(34);
});

test.each(["vp9", "av1"])("%s", async (codec) => {
	const port = await freePort();
	await startRelay(port);
	await publish(port, { codec, height: "360", bitrate: "1", framerate: "15" });
	const player = await watch(port, { namespace: "live/studio" });
	await player.waitPlaying(codec);
});

test("the player notices when the page stops", async () => {
	const port = await freePort();
	await startRelay(port);
	const page = await publish(port, { height: "360", bitrate: "1" });
	const player = await watch(port, { namespace: "live/studio" });
	await player.waitPlaying("the pattern");
	await page.getByRole("button", { name: "Stop" }).click();
	await player.waitState("waiting");
	await page.getByRole("button", { name: "Go live" }).click();
	await player.waitPlaying("again");
});
