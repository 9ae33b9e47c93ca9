import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { openPage, type PageOptions, relayUrl, startClip, useBrowser, useRelay, watch } from "../harness.ts";
import { ROOT } from "../setup.ts";

useBrowser();
const relay = useRelay({ clip: true });

const dir = process.env.MOQ_SHOTS ?? join(ROOT, "out/shots");
mkdirSync(dir, { recursive: true });
/** How long the charts get before the picture is taken, in milliseconds. */
const CHARTS = Number(process.env.MOQ_SHOTS_CHARTS ?? 40_000);

const shot = (page: Page, name: string) => page.screenshot({ path: join(dir, `${name}.png`) });

test.each<[string, Record<string, string>, PageOptions, number]>([
	["player-dark", { statistics: "" }, { dark: true, width: 1240, height: 1290 }, CHARTS],
	["player-light", { statistics: "" }, { width: 1240, height: 1290 }, CHARTS / 2],
	["player-phone", { statistics: "" }, { dark: true, width: 390, height: 844, scale: 2, touch: true }, CHARTS / 4],
	["player-phone-light", {}, { width: 390, height: 844, scale: 2, touch: true }, 2000],
])("%s", async (name, query, options, wait) => {
	const player = await watch(relay.port, query, options);
	await player.waitPlaying(name);
	await player.page.waitForTimeout(wait);
	await player.page.locator("moq-player").hover({ position: { x: 60, y: 60 } });
	await shot(player.page, name);
});

test("menu", async () => {
	const player = await watch(relay.port, {}, { dark: true, width: 1000, height: 700 });
	await player.waitPlaying("menu");
	await player.page.getByRole("button", { name: "Settings" }).click();
	await player.page.waitForTimeout(600);
	await shot(player.page, "player-menu");
	const other = await watch(relay.port, { namespace: "live/nobody" }, { width: 1000, height: 700 });
	await other.waitState("waiting");
	await shot(other.page, "player-waiting");
});

test("front page", async () => {
	await startClip(relay.port, "--namespace", "studio/camera-1");
	await startClip(relay.port, "--namespace", "studio/camera-2");
	for (const [name, o] of [
		["front", { width: 1100, height: 620 }],
		["front-phone", { width: 390, height: 760, dark: true, scale: 2, touch: true }],
	] as const) {
		const page = await openPage(relayUrl(relay.port), o);
		await page.getByRole("link", { name: /camera-2/ }).waitFor();
		await page.waitForTimeout(2500);
		await shot(page, name);
	}
});

test("publish", async () => {
	// Where there is no graphics card to encode, MOQ_SHOTS_SMALL asks for less.
	const size = process.env.MOQ_SHOTS_SMALL ? { height: "360-180", bitrate: "1", framerate: "15" } : undefined;
	const q = new URLSearchParams({ source: "pattern", namespace: "live/studio", start: "", ...size });
	const page = await openPage(`${relayUrl(relay.port)}publish.html?${q}`, { width: 1240, height: 900, dark: true });
	await page.getByRole("status").getByText("Live", { exact: true }).waitFor({ timeout: 60_000 });
	const player = await watch(relay.port, { namespace: "live/studio" });
	await player.waitPlaying("studio");
	await page.bringToFront();
	await page.waitForTimeout(CHARTS / 2);
	await shot(page, "publish-dark");
	const idle = await openPage(`${relayUrl(relay.port)}publish.html`, { width: 1240, height: 900 });
	await shot(idle, "publish-light");
	const phone = await openPage(`${relayUrl(relay.port)}publish.html`, {
		width: 390,
		height: 844,
		scale: 2,
		touch: true,
	});
	await shot(phone, "publish-phone");
});
