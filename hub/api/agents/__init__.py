"""Operations and serializers of agent variables of organizations."""
