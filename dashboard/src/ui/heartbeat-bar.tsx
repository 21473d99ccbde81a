import { Box, useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'

/** The worst that happened in one slice of time; null: nothing was heard. */
export type Slice = 'up' | 'down' | 'degraded' | 'unknown' | null

const COLORS: Record<'light' | 'dark', Record<string, string>> = {
  light: { up: '#12b886', down: '#e03131', degraded: '#f08c00', none: '#ced4da' },
  dark: { up: '#20c997', down: '#ff6b6b', degraded: '#ffd43b', none: '#495057' }
}
const HEIGHT = 28
const GAP = 2

function draw(canvas: HTMLCanvasElement, slices: readonly Slice[], width: number, scheme: 'light' | 'dark'): void {
  const context = canvas.getContext('2d')
  if (context === null || width === 0) return
  const scale = devicePixelRatio || 1
  canvas.width = Math.round(width * scale)
  canvas.height = HEIGHT * scale
  context.scale(scale, scale)
  context.clearRect(0, 0, width, HEIGHT)
  const step = width / slices.length
  slices.forEach((slice, i) => {
    const silent = slice === null || slice === 'unknown'
    context.fillStyle = COLORS[scheme][silent ? 'none' : slice] ?? ''
    context.beginPath()
    context.roundRect(i * step, silent ? 8 : 0, Math.max(1, step - GAP), silent ? HEIGHT - 16 : HEIGHT, 2)
    context.fill()
  })
}

/** One bar a slice of time, oldest first; a canvas, because a thousand monitors have sixty thousand of them. */
export function HeartbeatBar({ slices, label }: { slices: readonly Slice[]; label: string }) {
  const { ref, width } = useElementSize()
  const canvas = useRef<HTMLCanvasElement>(null)
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, slices, width, scheme)
  }, [slices, width, scheme])
  return (
    <Box ref={ref} h={HEIGHT} w="100%">
      <canvas ref={canvas} role="img" aria-label={label} style={{ width: '100%', height: HEIGHT, display: 'block' }} />
    </Box>
  )
}
