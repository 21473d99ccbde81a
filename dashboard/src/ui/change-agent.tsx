import { Modal } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../api.ts'
import { type Agent, AgentForm } from './agent-form.tsx'

/** Changes the name of an agent or service, what it may report, and what its keys may do. */
export function ChangeAgent({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const queries = useQueryClient()
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Change ${agent.name}`}
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <AgentForm
        initial={agent}
        action="Save"
        work={async ({ name, monitorIds, scopes }) => {
          await call('PATCH /v1/agents/{id}', { params: { id: agent.id }, body: { name, monitorIds, scopes } })
          await queries.invalidateQueries({ queryKey: ['agents'] })
          onClose()
        }}
        onCancel={onClose}
      />
    </Modal>
  )
}
