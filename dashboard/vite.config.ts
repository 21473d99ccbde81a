import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// biome-ignore lint/style/noDefaultExport: Vite reads its configuration from a default export.
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    // Nothing inlined as data: the content security policy then needs no exception for it.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800
  }
})
